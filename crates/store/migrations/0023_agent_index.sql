-- Finds the agents among the employees who only have a device.
CREATE INDEX agent_with_record ON agent (corp_id, employee_key) WHERE device_only = 0;

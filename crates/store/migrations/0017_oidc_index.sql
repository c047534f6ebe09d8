-- Finds the employee with an address: no two may have the same.
CREATE INDEX employee_by_email ON employee (email) WHERE email IS NOT NULL;

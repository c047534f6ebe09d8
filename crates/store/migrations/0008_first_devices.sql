-- The digest of the token with which the setup of a device began: only that session, or half of a sign-in, binds the device.
ALTER TABLE agent ADD COLUMN otp_pending_by TEXT;

-- The digest of the code with which an agent may bind a first device without a recent sign-in, and how long it counts.
ALTER TABLE agent ADD COLUMN otp_setup_code TEXT;
ALTER TABLE agent ADD COLUMN otp_setup_code_until BIGINT;

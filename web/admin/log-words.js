// The reasons and methods that the filters of the log view offer. A value that is newer than this page is shown by its name.

import './admin-words.js';

/** All reasons of refusals. */
export const REASONS = [
  'unknown_employee', 'left_platform', 'disabled_here', 'disabled', 'holder_unconfirmed', 'no_role', 'role_not_held', 'role_taken_away', 'address_not_allowed', 'denied', 'cancelled',
  'invalid_code', 'codes_limited', 'not_a_member', 'somebody_else', 'over', 'not_asked', 'phone_needed', 'wrong_number', 'approval_invalid', 'approvals_paused', 'caller_not_verified', 'cannot_ask', 'not_an_agent', 'device_not_allowed', 'password_wrong', 'no_password', 'password_off',
  'platform_works', 'otp_wrong', 'setup_over', 'too_many_failures', 'locked', 'old_password_wrong', 'not_proven', 'recent_sign_in_needed', 'setup_code',
  'role_needed', 'temporary_role', 'last_admin', 'would_shut_you_out', 'signed_out', 'kicked', 'left', 'expired', 'unknown',
];

/** The ways to sign in. */
export const METHODS = ['qrcode', 'oauth2', 'bind', 'password', 'dev'];

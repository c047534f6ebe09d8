mod login;
mod password;

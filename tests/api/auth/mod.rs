mod authorization;
mod bind;
mod client_address;
mod logout;
mod me;
mod sessions;
mod switch_role;
mod verify;

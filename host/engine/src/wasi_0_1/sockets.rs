//! `sock_…`: there are no sockets, so no descriptor is one.

use super::Call;
use super::answer::{Errno, Fail};

fn no_socket(call: &Call<'_>, fd: u32) -> Result<(), Fail> {
    call.guest.descriptors.get(fd)?;
    Err(Errno::NotSocket.into())
}

pub(super) fn sock_accept(call: &mut Call<'_>, fd: u32, _: u32, _: u32) -> Result<(), Fail> {
    no_socket(call, fd)
}

pub(super) fn sock_recv(call: &mut Call<'_>, fd: u32, _: u32, _: u32, _: u32, _: u32, _: u32) -> Result<(), Fail> {
    no_socket(call, fd)
}

pub(super) fn sock_send(call: &mut Call<'_>, fd: u32, _: u32, _: u32, _: u32, _: u32) -> Result<(), Fail> {
    no_socket(call, fd)
}

pub(super) fn sock_shutdown(call: &mut Call<'_>, fd: u32, _: u32) -> Result<(), Fail> {
    no_socket(call, fd)
}

//! What arguments and results of handlers tell of themselves.

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{HeaderMap, Uri};
use schemars::JsonSchema;

use super::sheet::{Answers, Asks, Sheet};
use crate::Desk;
use crate::http::admin::login_log::Accepts;
use crate::http::admin::{Known, Whom};
use crate::http::authority::{Admin, AtHome, HighRisk, HomeAdmin, Named, NamedAgent, Nothing, On, Reader, Service};
use crate::http::cookie::{Cookies, SetCookie};
use crate::http::envelope::{Beside, No, Rendered, Reply};
use crate::http::extract::{
    Besides, Body, Caller, Developer, Entrant, Guest, Holder, Operator, Peer, Perhaps, Reads, Whole,
};
use crate::http::failure::Failure;
use crate::http::fields::Ask;
use crate::http::opener::OpenedByPage;
use crate::http::query::{Path, Query};
use crate::http::{OnReserve, Who};

/// What is read, but is nothing that a client decides on.
macro_rules! silent {
    ($($argument:ty),*) => {$(impl Asks for $argument { fn asks(_: &mut Sheet) {} })*};
}
silent!(State<Desk>, Accepts, Cookies, Guest, HeaderMap, Nothing, OpenedByPage, Peer, Reads, Uri, Whole);
silent!(Option<Extension<OnReserve>>);

/// Whose token is wanted.
macro_rules! authority {
    ($($argument:ty => $who:ident),*) => {$(
        impl Asks for $argument { fn asks(sheet: &mut Sheet) { sheet.only_for(Who::$who); } }
    )*};
}
authority!(
    Entrant => Entrant, Holder => Holder, Caller => Caller, Reader => Reader, Admin => Admin, HomeAdmin => Admin, Developer => Developer, Operator => Operator
);

impl<T: Asks> Asks for HighRisk<T> {
    fn asks(sheet: &mut Sheet) {
        sheet.only_for(Who::HighRisk);
        T::asks(sheet);
    }
}

impl<P: Asks, R: Asks> Asks for On<P, R> {
    fn asks(sheet: &mut Sheet) {
        P::asks(sheet);
        R::asks(sheet);
    }
}

impl Asks for Known {
    fn asks(sheet: &mut Sheet) {
        sheet.reads_path::<Whom>();
    }
}

impl<T: Asks> Asks for AtHome<T> {
    fn asks(sheet: &mut Sheet) {
        T::asks(sheet);
    }
}

impl<S, T: Asks> Asks for Service<S, T> {
    fn asks(sheet: &mut Sheet) {
        sheet.only_for(Who::Service);
        T::asks(sheet);
    }
}

impl Asks for Besides {
    fn asks(sheet: &mut Sheet) {
        sheet.looks_at_token();
    }
}

impl<T: Ask> Asks for Body<T> {
    fn asks(sheet: &mut Sheet) {
        sheet.reads_body::<T>();
    }
}

impl<T: Ask> Asks for Perhaps<T> {
    fn asks(sheet: &mut Sheet) {
        sheet.may_read_body::<T>();
    }
}

impl<T: Ask> Asks for Query<T> {
    fn asks(sheet: &mut Sheet) {
        sheet.reads_query::<T>();
    }
}

impl<T: Ask> Asks for Path<T> {
    fn asks(sheet: &mut Sheet) {
        sheet.reads_path::<T>();
    }
}

impl Asks for NamedAgent {
    fn asks(sheet: &mut Sheet) {
        sheet.reads_path::<Named>();
    }
}

impl<T: JsonSchema> Answers for Reply<T> {
    fn answers(sheet: &mut Sheet) {
        sheet.answers_with::<T>();
    }
}

impl<T: JsonSchema> Answers for Rendered<T> {
    fn answers(sheet: &mut Sheet) {
        sheet.answers_with::<T>();
    }
}

impl<T: JsonSchema> Answers for Beside<T> {
    fn answers(sheet: &mut Sheet) {
        sheet.answers_beside::<T>();
    }
}

impl<T: Answers, E: Answers> Answers for Result<T, E> {
    fn answers(sheet: &mut Sheet) {
        T::answers(sheet);
        E::answers(sheet);
    }
}

impl<T: Answers> Answers for (SetCookie, T) {
    fn answers(sheet: &mut Sheet) {
        sheet.sets_cookie();
        T::answers(sheet);
    }
}

impl<T: Answers, const N: usize> Answers for ([(HeaderName, HeaderValue); N], T) {
    fn answers(sheet: &mut Sheet) {
        T::answers(sheet);
    }
}

/// What says nothing of a success: failures follow from the row, and a plain response is none that is described.
macro_rules! untold {
    ($($result:ty),*) => {$(impl Answers for $result { fn answers(_: &mut Sheet) {} })*};
}
untold!(Failure, No, Response, &'static str);

//! The description of every route below /api, made from the table and from the types of its handlers.

mod extractors;
mod failures;
mod operations;
mod schema;
mod spec;

use std::sync::OnceLock;

use axum::response::{IntoResponse, Response};
use hyper::header::CONTENT_TYPE;
use hyper::{HeaderMap, Uri};
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use spec::{BodySpec, SuccessBody};

pub(crate) use schema::{MethodName, RoleName, ScopeName, ServiceScopeName, SourceName};
pub(crate) use spec::{DescribeInput, DescribeOutput, DescribedHandler, OperationSpec};

use crate::http::error::ApiError;
use crate::http::request::extract::ClientLanguage;
use crate::http::request::fields::FieldSpec;
use crate::http::{RequiredAccess, Route, pages, routes};

const ABOUT: &str = "The sign-in desk of an IT help desk. Every answer has one envelope: `code` (0 is success), `message` \
    in English or Chinese by `Accept-Language`, `data`, and `request_id`, which is the `X-Request-Id` of the request where \
    that is 1 to 64 of A-Z a-z 0-9 . _ -. Clients should overlook members that they do not know.";

/// The description, as it is.
pub(crate) struct DescriptionJson;

/// Hands out the description.
pub(crate) async fn document() -> DescriptionJson {
    DescriptionJson
}

/// The description of every route below /api, as OpenAPI 3.1 has it.
pub fn description() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| describe(&routes()).to_string())
}

impl IntoResponse for DescriptionJson {
    fn into_response(self) -> Response {
        ([(CONTENT_TYPE, "application/json")], description()).into_response()
    }
}

impl DescribeOutput for DescriptionJson {
    fn describe_output(spec: &mut OperationSpec) {
        spec.replies_plain("application/json");
    }
}

/// The description as a page.
pub(crate) struct DocsPage(Response);

/// Hands out the page that shows the description.
pub(crate) async fn docs(uri: Uri, language: ClientLanguage, headers: HeaderMap) -> Result<DocsPage, ApiError> {
    pages::page(uri, language, headers).await.map(DocsPage)
}

impl IntoResponse for DocsPage {
    fn into_response(self) -> Response {
        self.0
    }
}

impl DescribeOutput for DocsPage {
    fn describe_output(spec: &mut OperationSpec) {
        spec.replies_plain("text/html");
    }
}

/// Describes the routes of a table.
fn describe(table: &[Route]) -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    failures::describe(&mut generator);
    let mut paths: Map<String, Value> = Map::new();
    for route in table.iter().filter(|route| route.path.starts_with("/api/")) {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        if let Some(path) = path.as_object_mut() {
            path.insert(route.method.as_str().to_ascii_lowercase(), operation(route, &mut generator));
        }
    }
    let tags = operations::SECTIONS.iter().map(|section| {
        let [english, chinese] = section.name;
        json!({ "name": english, "x-name-zh": chinese })
    });
    json!({
        "openapi": "3.1.0",
        "info": { "title": "deskpass", "version": env!("CARGO_PKG_VERSION"), "description": ABOUT },
        "servers": [{ "url": "/" }],
        "tags": tags.collect::<Vec<_>>(),
        "x-codes": failures::codes(),
        "paths": paths,
        "components": {
            "schemas": generator.take_definitions(true),
            "headers": failures::headers(),
            "securitySchemes": { "bearer": { "type": "http", "scheme": "bearer" } },
        },
    })
}

fn operation(route: &Route, generator: &mut SchemaGenerator) -> Value {
    let mut spec = OperationSpec::default();
    (route.describe)(&mut spec);
    let about = operations::about(route.method.as_str(), route.path);
    let told = about.as_ref().map(|about| (about.section, about.place, about.summary));
    let (section, place, [english, chinese]) = told.unwrap_or_default();
    let mut responses: Map<_, _> = success(&spec, generator).into_iter().collect();
    let refusals = about.map_or(&[][..], |about| about.refusals);
    let failures = failures::responses(route, &spec, refusals);
    responses.extend(failures.into_iter().map(|(status, response)| (status.to_string(), response)));
    let mut operation = json!({
        "operationId": id(route),
        "tags": [section],
        "summary": english,
        "x-summary-zh": chinese,
        "x-who": access_name(route.access),
        "x-place": place,
        "security": security(route.access, &spec),
        "parameters": parameters(route, &spec),
        "responses": responses,
    });
    if let (Some(operation), Some(body)) = (operation.as_object_mut(), &spec.body) {
        operation.insert("requestBody".into(), request_body(body));
    }
    operation
}

/// Method and path in one word, for programs that are made from the description.
fn id(route: &Route) -> String {
    let pieces = route.path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|piece| !piece.is_empty());
    let pieces = pieces.skip(1).map(str::to_owned);
    [route.method.as_str().to_ascii_lowercase()].into_iter().chain(pieces).collect::<Vec<_>>().join("_")
}

/// Who may call, in a word that the page has a text for.
fn access_name(access: RequiredAccess) -> &'static str {
    match access {
        RequiredAccess::Anyone => "anyone",
        RequiredAccess::PartialOrFull => "entrant",
        RequiredAccess::TokenHolder => "holder",
        RequiredAccess::ActiveUser => "caller",
        RequiredAccess::Reader => "reader",
        RequiredAccess::Admin => "admin",
        RequiredAccess::HighRisk => "high_risk",
        RequiredAccess::Service => "service",
        RequiredAccess::Developer => "developer",
        RequiredAccess::Operator => "operator",
    }
}

fn security(access: RequiredAccess, spec: &OperationSpec) -> Value {
    match access {
        RequiredAccess::PartialOrFull
        | RequiredAccess::TokenHolder
        | RequiredAccess::ActiveUser
        | RequiredAccess::Reader
        | RequiredAccess::Admin
        | RequiredAccess::HighRisk
        | RequiredAccess::Service => {
            json!([{ "bearer": [] }])
        }
        RequiredAccess::Anyone | RequiredAccess::Developer | RequiredAccess::Operator if spec.accepts_token => {
            json!([{}, { "bearer": [] }])
        }
        RequiredAccess::Anyone | RequiredAccess::Developer | RequiredAccess::Operator => json!([]),
    }
}

fn parameters(route: &Route, spec: &OperationSpec) -> Vec<Value> {
    let parameter = |place: &'static str| {
        move |field: &FieldSpec| {
            let FieldSpec { name, kind, required } = field;
            json!({ "name": name, "in": place, "required": required, "schema": schema::of(kind) })
        }
    };
    let mut parameters: Vec<_> = spec.path.iter().map(parameter("path")).collect();
    parameters.extend(spec.query.iter().map(parameter("query")));
    if route.access == RequiredAccess::HighRisk {
        parameters.push(json!({
            "name": "X-OTP-Code", "in": "header", "required": true, "schema": { "type": "string" },
            "description": "A fresh one-time password of the caller's device",
        }));
    }
    parameters
}

fn request_body(body: &BodySpec) -> Value {
    let schema = body.form.map_or_else(|| schema::object(&body.fields), |form| form());
    let kinds = body.kinds.iter().map(|kind| ((*kind).to_owned(), json!({ "schema": schema })));
    json!({ "required": body.required, "content": kinds.collect::<Map<_, _>>() })
}

/// The answers of a route that are a success, by status.
fn success(spec: &OperationSpec, generator: &mut SchemaGenerator) -> Map<String, Value> {
    let mut headers = json!({ "X-Request-Id": { "$ref": "#/components/headers/X-Request-Id" } });
    let mut also = |name: &str| {
        if let Some(headers) = headers.as_object_mut() {
            headers.insert(name.into(), json!({ "$ref": format!("#/components/headers/{name}") }));
        }
    };
    if spec.sets_cookie {
        also("Set-Cookie");
    }
    if spec.switches {
        let switched = json!({ "description": "The connection is a WebSocket from here on", "headers": headers });
        return Map::from_iter([("101".into(), switched)]);
    }
    let mut content = Map::new();
    for success in &spec.success {
        match success {
            SuccessBody::Data(data) => {
                drop(content.insert("application/json".into(), envelope(&data(generator).into())))
            }
            SuccessBody::Flat(data) => {
                drop(content.insert("application/json".into(), flat_envelope(&data(generator).into())))
            }
            SuccessBody::Plain(kind) => drop(content.insert((*kind).into(), json!({ "schema": plain(kind) }))),
            SuccessBody::Redirect => {
                also("Location");
                let sent_on = json!({ "description": "The browser is sent on", "headers": headers });
                return Map::from_iter([("303".into(), sent_on)]);
            }
        }
    }
    Map::from_iter([("200".into(), json!({ "description": "Success", "headers": headers, "content": content }))])
}

/// What a success holds that has no envelope.
fn plain(kind: &str) -> Value {
    json!({ "type": if kind == "application/json" { "object" } else { "string" } })
}

fn envelope(data: &Value) -> Value {
    json!({ "schema": {
        "type": "object",
        "required": ["code", "message", "data", "request_id"],
        "properties": {
            "code": { "const": 0 }, "message": { "type": "string" }, "data": data, "request_id": { "type": "string" },
        },
    } })
}

/// An envelope beside whose members those of its payload stand, too.
fn flat_envelope(data: &Value) -> Value {
    let mut content = envelope(data);
    if let Some(schema) = content.get_mut("schema").and_then(Value::as_object_mut) {
        schema.insert("description".into(), json!("What data holds stands beside it, too."));
        schema.insert("additionalProperties".into(), json!(true));
    }
    content
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop at the first surprise")]
mod tests;

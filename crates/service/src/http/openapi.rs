//! The API description of every route below /api, made from the route table and the types of the handlers.

mod failures;
mod meanings;
mod schema;
mod security;

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use self::meanings::Meanings;
use crate::http::handler::OperationSpec;
use crate::http::request::{BodySpec, FieldSpec, RequiredAccess};
use crate::http::response::SuccessBody;
use crate::http::route::Route;

const ABOUT: &str = "The sign-in service of an IT help desk. Every response has the same envelope: `code` (0 is \
    success), `message` in English or Chinese by `Accept-Language`, `data`, and `request_id`, which is the \
    `X-Request-Id` of the request where that is 1 to 64 of A-Z a-z 0-9 . _ - and does not begin \
    with eight hexadecimal digits and a hyphen. Clients must ignore members that they \
    do not know.";

/// The headers with which an operation of high risk is confirmed: one of them.
const CONFIRMATIONS: [(&str, &str); 2] = [
    ("X-OTP-Code", "A fresh one-time password from the caller's device. Either this or X-Approval."),
    ("X-Approval", "The id of an approval of exactly this request on the caller's phone. Either this or X-OTP-Code."),
];

/// Describes the routes of a table, in OpenAPI 3.1.
pub(super) fn describe(table: &[Route]) -> Value {
    describe_with(table, &mut Meanings::read())
}

fn describe_with(table: &[Route], meanings: &mut Meanings) -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    // For the responses to refer to.
    generator.subschema_for::<failures::Failure>();
    let mut paths: Map<String, Value> = Map::new();
    let mut tags: Vec<[&str; 2]> = Vec::new();
    for (place, route) in table.iter().filter(|route| route.is_described()).enumerate() {
        if tags.last() != Some(&route.tag) {
            tags.push(route.tag);
        }
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        if let Some(path) = path.as_object_mut() {
            path.insert(route.method.as_str().to_ascii_lowercase(), operation(route, place, &mut generator));
        }
    }
    let mut schemas = generator.take_definitions(true);
    meanings.add_to(&mut paths, &mut schemas);
    let tags = tags.iter().map(|[english, chinese]| json!({ "name": english, "x-name-zh": chinese }));
    json!({
        "openapi": "3.1.0",
        "info": { "title": "deskpass", "version": env!("CARGO_PKG_VERSION"), "description": ABOUT },
        "servers": [{ "url": "/" }],
        "tags": tags.collect::<Vec<_>>(),
        "x-codes": failures::codes(),
        "paths": paths,
        "components": {
            "schemas": schemas,
            "headers": failures::headers(),
            "securitySchemes": security::schemes(),
        },
    })
}

/// Describes a route; `place` is its position among the described routes.
fn operation(route: &Route, place: usize, generator: &mut SchemaGenerator) -> Value {
    let mut spec = OperationSpec::default();
    (route.describe)(&mut spec);
    let ([tag, _], [english, chinese]) = (route.tag, route.summary);
    let mut responses: Map<_, _> = success(&spec, generator).into_iter().collect();
    let failures = failures::responses(route, &spec);
    responses.extend(failures.into_iter().map(|(status, response)| (status.to_string(), response)));
    let mut operation = json!({
        "operationId": id(route),
        "tags": [tag],
        "summary": english,
        "x-summary-zh": chinese,
        "x-who": access_name(route.access),
        "x-place": place,
        "security": security::of(route.access, &spec),
        "parameters": parameters(route, &spec),
        "responses": responses,
    });
    if let (Some(operation), Some(body)) = (operation.as_object_mut(), &spec.input.body) {
        operation.insert("requestBody".into(), request_body(body));
    }
    operation
}

/// The operation id, for generated clients: method and path as one word.
fn id(route: &Route) -> String {
    let pieces = route.path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|piece| !piece.is_empty());
    let pieces = pieces.skip(1).map(str::to_owned);
    [route.method.as_str().to_ascii_lowercase()].into_iter().chain(pieces).collect::<Vec<_>>().join("_")
}

/// Who may call a route, as a word that the documentation page translates.
fn access_name(access: RequiredAccess) -> &'static str {
    match access {
        RequiredAccess::Anyone => "anyone",
        RequiredAccess::PartialOrFull => "entrant",
        RequiredAccess::TokenHolder => "holder",
        RequiredAccess::ActiveUser => "caller",
        RequiredAccess::Reader => "reader",
        RequiredAccess::Admin => "admin",
        RequiredAccess::HighRisk => "high_risk",
        RequiredAccess::Service(_) => "service",
        RequiredAccess::Developer => "developer",
        RequiredAccess::Operator => "operator",
    }
}

fn parameters(route: &Route, spec: &OperationSpec) -> Vec<Value> {
    let parameter = |place: &'static str| {
        move |field: &FieldSpec| {
            let FieldSpec { name, kind, required, doc } = field;
            // A request that leaves out a part of the path has another path, so OpenAPI wants all of them to be required.
            let required = *required || place == "path";
            let parameter = json!({ "name": name, "in": place, "required": required, "schema": schema::of(kind) });
            schema::documented(parameter, doc)
        }
    };
    let mut parameters: Vec<_> = spec.input.path.iter().map(parameter("path")).collect();
    parameters.extend(spec.input.query.iter().map(parameter("query")));
    if route.access == RequiredAccess::HighRisk {
        parameters.extend(CONFIRMATIONS.map(|(name, description)| {
            let schema = json!({ "type": "string" });
            json!({ "name": name, "in": "header", "required": false, "schema": schema, "description": description })
        }));
    }
    parameters
}

/// Describes a body in its first media type: a client needs one, and some generators cannot handle several.
fn request_body(body: &BodySpec) -> Value {
    let schema = body.form.map_or_else(|| schema::object(&body.fields), |form| form());
    let content: Map<_, _> =
        body.kinds.iter().take(1).map(|kind| ((*kind).to_owned(), json!({ "schema": schema }))).collect();
    match body.kinds.get(1) {
        Some(other) => {
            let note = format!("Also accepted as {other}, with the same fields.");
            json!({ "required": body.required, "description": note, "x-accepts-form": true, "content": content })
        }
        None => json!({ "required": body.required, "content": content }),
    }
}

/// The successful responses of a route, by status.
fn success(spec: &OperationSpec, generator: &mut SchemaGenerator) -> Map<String, Value> {
    let mut headers = Map::from_iter([failures::header("X-Request-Id")]);
    if spec.output.sets_cookie {
        headers.extend([failures::header("Set-Cookie")]);
    }
    if spec.output.switches {
        let switched = json!({ "description": "The connection is now a WebSocket", "headers": headers });
        return Map::from_iter([("101".into(), switched)]);
    }
    let mut content = Map::new();
    for success in &spec.output.success {
        let (kind, schema) = match success {
            SuccessBody::Data(data) => ("application/json", envelope(&data(generator).into())),
            SuccessBody::Flat(data) => ("application/json", flat_envelope(&data(generator).into())),
            SuccessBody::Plain(kind) => (*kind, json!({ "schema": plain(kind) })),
            SuccessBody::Redirect => {
                headers.extend([failures::header("Location")]);
                let sent_on = json!({ "description": "The browser is redirected", "headers": headers });
                return Map::from_iter([("303".into(), sent_on)]);
            }
        };
        content.insert(kind.into(), schema);
    }
    Map::from_iter([("200".into(), json!({ "description": "Success", "headers": headers, "content": content }))])
}

/// The schema of a success without an envelope.
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

/// An envelope that also has the members of its payload at the top level.
fn flat_envelope(data: &Value) -> Value {
    let mut content = envelope(data);
    if let Some(schema) = content.get_mut("schema").and_then(Value::as_object_mut) {
        schema.insert("description".into(), json!("The members of data are also present at the top level."));
        schema.insert("additionalProperties".into(), json!(true));
    }
    content
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop at the first surprise")]
mod tests;

//! Access decisions of every endpoint and socket match a short reference function, for random matrices, users and requests.

use deskpass::config::{Access, Settings};
use deskpass_core::{AllowLists, Operation, PermissionMatrix, PermissionScope, Resource, Role};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::harness::{Client, StoreBackend, TestApp, TestSocket, handshake, rounds, settings};

const WHO: &str = "norole01";

/// A service with a random matrix and allow lists, and the roles that the employee holds. A cell counts how far it reaches:
/// not at all, own, department, all.
#[derive(Clone, Debug)]
struct World {
    cells: Vec<usize>,
    held: Vec<Role>,
    /// The networks from which each role may be active; an empty list allows both.
    lists: Vec<[bool; 2]>,
}

/// The two networks, each with the address of a client in it.
const NETWORKS: [(&str, &str); 2] = [("198.51.100.0/24", "198.51.100.7"), ("2001:db8:1::/48", "2001:db8:1::7")];

/// A request of an employee who switched to a role; the role may have been revoked since.
#[derive(Clone, Debug)]
struct Question {
    active: Role,
    taken_away: bool,
    /// The index of the network that the client is in.
    from: usize,
    resource: Resource,
    operation: Operation,
    scope: PermissionScope,
    /// The roles that a proxy demands; an empty list allows any role.
    demanded: Vec<Role>,
}

/// The index of a permission's cell.
fn place(role: Role, resource: Resource, operation: Operation) -> usize {
    (role as usize - 1) * 16 + resource as usize * 4 + operation as usize
}

/// Returns whether the active role may be active from the client's network.
fn from_there(world: &World, question: &Question) -> bool {
    let list = world.lists[question.active as usize - 1];
    list == [false, false] || list[question.from]
}

/// Returns whether the matrix and the allow lists permit the request.
fn allowed(world: &World, question: &Question) -> bool {
    let granted = world.cells[place(question.active, question.resource, question.operation)];
    let wanted = question.scope as usize + 1;
    !question.taken_away && from_there(world, question) && granted >= wanted
}

/// Returns whether a proxy lets the request through.
fn passes(world: &World, question: &Question) -> bool {
    let demanded = question.demanded.is_empty() || question.demanded.contains(&question.active);
    demanded && allowed(world, question)
}

fn lists(world: &World) -> AllowLists {
    let of = |(role, list): (Role, &[bool; 2])| {
        let listed = NETWORKS.into_iter().zip(*list).filter(|(_, listed)| *listed);
        listed.map(move |((network, _), _)| (role, network.parse().unwrap())).collect::<Vec<_>>()
    };
    Role::ALL.into_iter().zip(&world.lists).flat_map(of).collect()
}

fn matrix(cells: &[usize]) -> PermissionMatrix {
    PermissionMatrix::from_cells(|role, resource, operation| {
        cells[place(role, resource, operation)].checked_sub(1).map(|scope| PermissionScope::ALL[scope])
    })
}

fn world() -> impl Strategy<Value = (World, Vec<Question>)> {
    let cells = proptest::collection::vec(0..4_usize, 80);
    let held = proptest::sample::subsequence(Role::ALL.to_vec(), 1..=5);
    let lists = proptest::collection::vec(any::<[bool; 2]>(), 5);
    (cells, held, lists).prop_flat_map(|(cells, held, lists)| {
        let questions = proptest::collection::vec(question(held.clone()), 1..40);
        (Just(World { cells, held, lists }), questions)
    })
}

fn question(held: Vec<Role>) -> impl Strategy<Value = Question> {
    let one_of = proptest::sample::select::<Role>;
    let demanded = prop_oneof![Just(Vec::new()), proptest::sample::subsequence(Role::ALL.to_vec(), 1..=5)];
    let wish = (
        proptest::sample::select(Resource::ALL.to_vec()),
        proptest::sample::select(Operation::ALL.to_vec()),
        proptest::sample::select(PermissionScope::ALL.to_vec()),
    );
    (one_of(held), proptest::bool::weighted(0.15), 0..2_usize, wish, demanded).prop_map(
        |(active, taken_away, from, (resource, operation, scope), demanded)| Question {
            active,
            taken_away,
            from,
            resource,
            operation,
            scope,
            demanded,
        },
    )
}

async fn compare(world: &World, questions: &[Question]) {
    let given = settings(&[("development.enabled", "true")]);
    let app = TestApp::with(Settings {
        access: Access { matrix: matrix(&world.cells), ..given.access.clone() },
        ..given.clone()
    })
    .await;
    for role in &world.held {
        app.auth().operator().grant(app.key(WHO), role.name()).await.unwrap();
    }
    let mut client = app.client().await;
    let token = client.sign_in(WHO).await;
    for question in questions {
        // The lists are set after the employee has switched roles: from here on they apply to each request.
        app.auth().operator().set_ip_rules(&AllowLists::default()).await.unwrap();
        client.switch(&token, question.active.name()).await.data();
        let (bearer, from) = (format!("Bearer {token}"), NETWORKS[question.from].1);
        let head = handshake("/api/ws/employee", &[("authorization", &bearer), ("x-forwarded-for", from)]);
        let mut open = TestSocket::try_open(&app.address, &head).await.unwrap();
        open.event("ready").await;
        app.auth().operator().set_ip_rules(&lists(world)).await.unwrap();
        if question.taken_away {
            app.auth().operator().revoke(app.key(WHO), question.active.name()).await.unwrap();
        }
        ask(&mut client, &token, world, question).await;
        connect(&app, &token, world, question, open).await;
        app.auth().operator().grant(app.key(WHO), question.active.name()).await.unwrap();
    }
}

/// Returns whether a socket of this kind may be open.
fn may_connect(world: &World, question: &Question, kind: &str) -> bool {
    let acts = !question.taken_away && from_there(world, question);
    acts && (kind == "employee" || [Role::Agent, Role::Supervisor, Role::Admin].contains(&question.active))
}

/// Asserts that a socket opens only where it is permitted, and that an open socket closes when it no longer is.
async fn connect(app: &TestApp, token: &str, world: &World, question: &Question, mut open: TestSocket) {
    let (bearer, from) = (format!("Bearer {token}"), NETWORKS[question.from].1);
    for kind in ["employee", "agent"] {
        let head = handshake(&format!("/api/ws/{kind}"), &[("authorization", &bearer), ("x-forwarded-for", from)]);
        let status = TestSocket::try_open(&app.address, &head).await.map_or_else(|refused| refused.status, |_| 101);
        assert_eq!(status, if may_connect(world, question, kind) { 101 } else { 403 }, "{kind} {question:?}");
    }
    if may_connect(world, question, "employee") {
        open.is_quiet().await;
    } else {
        assert_eq!(open.closed().await.0, 4403, "{question:?}");
    }
}

async fn ask(client: &mut Client, token: &str, world: &World, question: &Question) {
    let Question { resource, operation, scope, .. } = question;
    let wish = [resource.name(), operation.name(), scope.name()];
    let from = NETWORKS[question.from].1;
    let answer = client.check_from(from, token, wish).await;
    let acts = !question.taken_away && from_there(world, question);
    assert_eq!(answer.status, if acts { 200 } else { 403 }, "{question:?}");
    assert_eq!(answer.json()["data"]["allowed"] == true, allowed(world, question), "{question:?}");
    let demanded: Vec<_> = question.demanded.iter().map(|role| role.name()).collect();
    let demanded = if demanded.is_empty() { String::new() } else { format!("&role={}", demanded.join(",")) };
    let query = format!("?resource={}&operation={}&scope={}{demanded}", wish[0], wish[1], wish[2]);
    let status = client.forward_from(from, token, &query).await.status;
    assert_eq!(status, if passes(world, question) { 200 } else { 403 }, "{question:?}");
}

fn on(stage: StoreBackend, cases: usize) {
    let cases = u32::try_from(rounds(cases)).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let config =
        ProptestConfig { cases, max_shrink_iters: 100, failure_persistence: None, ..ProptestConfig::default() };
    let ran = TestRunner::new(config).run(&world(), |(world, questions)| {
        runtime.block_on(stage.run(compare(&world, &questions)));
        Ok(())
    });
    ran.unwrap();
}

mod every_way_of_asking_gets_the_answer_of_the_reference {
    use super::*;

    #[test]
    fn embedded() {
        on(StoreBackend::Embedded, 60);
    }

    #[test]
    fn scaled_out() {
        on(StoreBackend::ScaledOut, 30);
    }
}

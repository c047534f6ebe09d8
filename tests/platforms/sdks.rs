//! SDKs that others wrote use the simulated platforms: what they send is understood, and what they get is what they expect.

use std::path::Path;
use std::process::Command;

use deskpass_core::{Clock, Entropy, Timestamp};
use deskpass_platform::PlatformKind;
use deskpass_simulator::{Domains, Simulator, SimulatorConfig};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::harness::Messenger;

const SECRET: &str = "canary-of-the-sdks";

/// A script with the SDKs that `tools/sdks` installs.
pub(super) fn python(script: &str) -> Command {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("sdks");
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/platforms/sdks");
    let mut python = Command::new(home.join("bin/python"));
    // An SDK has ten thousand modules, so they are compiled once, and not beside the sources. The environment of the developer who
    // runs the suite has no effect.
    python.arg(scripts.join(script)).env_remove("PYTHONDONTWRITEBYTECODE");
    python.env("PYTHONPYCACHEPREFIX", home.join("cache"));
    python
}

/// Runs a script against a simulated platform at the root of an address, as the SDKs expect it. The secret is not for the list of
/// processes.
async fn use_sdk(kind: PlatformKind, script: &str) {
    let messenger = Messenger::of(kind);
    let config = SimulatorConfig {
        kind: messenger.simulated,
        corp_id: messenger.corp_id.to_owned(),
        client_id: messenger.client_id.to_owned(),
        secret: SECRET.to_owned(),
        agent_id: "1000002".to_owned(),
        domains: Domains::Loopback,
        base: String::new(),
    };
    let clock = Clock::manual(Timestamp::from_millis(1_800_000_000_000));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopping) = oneshot::channel::<()>();
    let simulator = Simulator::new(config, clock, Entropy::system());
    let stopped = tokio::spawn(deskpass_simulator::serve(listener, simulator, async { drop(stopping.await) }));

    let mut python = python(script);
    python.env("SIMULATOR", format!("http://{address}")).env("SECRET", SECRET);
    python.env("NO_PROXY", "127.0.0.1").env("no_proxy", "127.0.0.1");
    let ran = tokio::task::spawn_blocking(move || python.output()).await.unwrap().expect("run tools/sdks first");
    let text = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success() && text.contains("done"), "{script}\n{text}");
    drop(stop);
    stopped.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wechatpy_uses_the_simulated_wecom() {
    use_sdk(PlatformKind::Wecom, "use_wecom.py").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_official_sdk_and_another_use_the_simulated_dingtalk() {
    use_sdk(PlatformKind::Dingtalk, "use_dingtalk.py").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_official_sdk_uses_the_simulated_feishu() {
    use_sdk(PlatformKind::Feishu, "use_feishu.py").await;
}

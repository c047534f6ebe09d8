//! What is said on a socket, and how it ends.

mod metered;
mod parting;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::buf::Chain;
use bytes::{Buf as _, Bytes};
use deskpass_auth::{Caller, End, Socket, Word};
use deskpass_core::{Debt, MessageKind, OpenFrame, Rate};
use futures_util::{FutureExt as _, SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

use self::metered::Metered;
use self::parting::Parting;
use crate::Desk;
use crate::http::login::iso;
use crate::tally::Present;

/// When to come back where an address has as many sockets as it may have.
pub(super) const ROOM: Duration = Duration::from_secs(5);

/// How long a client may leave what it is sent.
const STUCK: Duration = Duration::from_secs(30);

/// How much a client may say; it has nothing to say.
const SAYINGS: u32 = 100;

/// How much is said in a row before anything else is looked at.
const STREAK: usize = 32;

/// Small, since there are many sockets and most are quiet.
const BUFFER: usize = 2 * 1024;

type Line = WebSocketStream<Metered>;

/// The head of a frame and its text. They go out past the buffer of the line, which would keep a copy of the longest frame for
/// every socket that there is.
type Unsent = Chain<Bytes, Bytes>;

/// A socket that was agreed on.
pub(super) struct Opened {
    desk: Desk,
    socket: Socket,
    /// What is said first.
    ready: Value,
    _present: Present,
}

/// What a connection becomes after its answer.
#[derive(Clone)]
pub(crate) struct Onward(Arc<Mutex<Option<Opened>>>);

impl fmt::Debug for Onward {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Onward")
    }
}

impl Onward {
    pub(super) fn new(opened: Opened) -> Self {
        Self(Arc::new(Mutex::new(Some(opened))))
    }

    /// Goes on as a socket until that is over, or it is asked to leave.
    pub(crate) async fn run(self, stream: TcpStream, read: Bytes, leave: &mut oneshot::Receiver<()>) {
        let opened = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(opened) = opened {
            opened.run(stream, read, leave).await;
        }
    }
}

/// What happened on a line.
enum Happened {
    Word(Word),
    Heard(Option<Result<Message, Error>>),
    Tick,
    Leave,
}

/// A socket at work.
struct Talk<'a> {
    desk: &'a Desk,
    line: Line,
    socket: Socket,
    leave: &'a mut oneshot::Receiver<()>,
    /// What the client has not taken yet of the frame that it is being sent.
    unsent: Unsent,
    /// How often the client was asked whether it is there without a word from it since.
    unheard: u8,
    sayings: Debt,
}

impl Opened {
    pub(super) fn new(desk: Desk, socket: Socket, caller: &Caller, resumed: bool, present: Present) -> Self {
        let (role, expires_in) = (caller.0.session().current_role.name(), caller.0.remaining.as_secs());
        let ready = json!({ "event": "ready", "resumed": resumed, "current_role": role, "expires_in": expires_in });
        Self { desk, socket, ready, _present: present }
    }

    async fn run(self, stream: TcpStream, read: Bytes, leave: &mut oneshot::Receiver<()>) {
        let Self { desk, socket, ready, _present } = self;
        let stream = Metered::new(stream);
        let line = WebSocketStream::from_partially_read(stream, read.into(), Role::Server, Some(config())).await;
        let mut talk = Talk {
            desk: &desk,
            line,
            socket,
            leave,
            unsent: Bytes::new().chain(Bytes::new()),
            unheard: 0,
            sayings: Debt::NONE,
        };
        let parting = match talk.tell(&ready).await {
            Ok(()) => talk.go_on().await,
            Err(parting) => parting,
        };
        desk.metrics.parted(parting.code());
        talk.part(parting).await;
    }
}

impl Talk<'_> {
    /// Talks until there is a reason to part.
    async fn go_on(&mut self) -> Parting {
        let mut ticks = ticks(self.desk.settings.sockets.ping);
        let mut streak = 0;
        loop {
            let happened = self.happens(&mut ticks, &mut streak).await;
            let done = match happened {
                Happened::Word(word) => self.say(word).await,
                Happened::Heard(heard) => self.hear(heard),
                Happened::Tick => self.ask().await,
                Happened::Leave => Err(Parting::Restarting),
            };
            if let Err(parting) = done {
                return parting;
            }
        }
    }

    /// The next thing that happens. What there is to say comes first, but not for ever: whoever is told much is still heard.
    async fn happens(&mut self, ticks: &mut Interval, streak: &mut usize) -> Happened {
        if *streak >= STREAK {
            *streak = 0;
            let heard = self.line.next().now_or_never().map(Happened::Heard);
            if let Some(happened) = heard.or_else(|| ticks.tick().now_or_never().map(|_| Happened::Tick)) {
                return happened;
            }
        }
        tokio::select! {
            biased;
            _ = &mut *self.leave => Happened::Leave,
            word = self.socket.next(&self.desk.auth) => {
                *streak += 1;
                Happened::Word(word)
            }
            heard = self.line.next() => Happened::Heard(heard),
            _ = ticks.tick() => Happened::Tick,
        }
    }

    async fn say(&mut self, word: Word) -> Result<(), Parting> {
        match word {
            Word::Letter(letter) => {
                self.desk.metrics.said();
                self.send(letter.frame.clone()).await
            }
            Word::RoleChanged(role) => {
                self.tell(&json!({ "event": "role_changed", "current_role": role.name() })).await
            }
            Word::Ending(left) => {
                self.tell(&json!({ "event": "ending", "reason": "expired", "expires_in": left.as_secs() })).await
            }
            Word::Over(end) => Err(Parting::Over(end)),
        }
    }

    /// Says something about the session itself.
    async fn tell(&mut self, content: &Value) -> Result<(), Parting> {
        self.send(self.about_session(content)).await
    }

    fn about_session(&self, content: &Value) -> Bytes {
        let (content, ts) = (content.to_string(), iso(self.desk.auth.clock.now()));
        // A few words are never too long.
        let frame = OpenFrame::new(MessageKind::Session, Some(&content), None, &ts);
        frame.map(|frame| frame.close(self.socket.seen())).unwrap_or_default().into()
    }

    /// Sends a text, unless the client does not take it, or may not have it any more before it does.
    async fn send(&mut self, text: Bytes) -> Result<(), Parting> {
        self.unsent = framed(text);
        self.push(None).await
    }

    /// Has the client take what there is for it, and then be asked something.
    async fn push(&mut self, question: Option<Message>) -> Result<(), Parting> {
        tokio::select! {
            biased;
            sent = push(&mut self.line, &mut self.unsent, question) => sent.map_err(|error| Parting::after(&error)),
            end = self.socket.over(&self.desk.auth) => Err(Parting::Over(end)),
            _ = &mut *self.leave => Err(Parting::Restarting),
            () = sleep(STUCK) => Err(Parting::Over(End::TooSlow)),
        }
    }

    /// Asks whether the client is there.
    async fn ask(&mut self) -> Result<(), Parting> {
        if self.unheard >= 2 {
            return Err(Parting::Silent);
        }
        self.unheard += 1;
        self.push(Some(Message::Ping(Bytes::new()))).await
    }

    /// Listens to a client that has nothing to say.
    fn hear(&mut self, heard: Option<Result<Message, Error>>) -> Result<(), Parting> {
        let asked = std::mem::take(&mut self.unheard) > 0;
        match heard {
            None => Err(Parting::Gone),
            Some(Err(error)) => Err(Parting::after(&error)),
            Some(Ok(Message::Close(_))) => Err(Parting::Theirs),
            Some(Ok(Message::Binary(_))) => Err(Parting::Binary),
            Some(Ok(Message::Pong(_))) if asked => Ok(()),
            Some(Ok(_)) => self.count(),
        }
    }

    fn count(&mut self) -> Result<(), Parting> {
        let Some(rate) = Rate::new(SAYINGS, Duration::from_mins(1)) else { return Ok(()) };
        let admitted = rate.admit(self.sayings, self.desk.auth.clock.now());
        self.sayings = admitted.map_err(|_| Parting::TooManyMessages)?;
        Ok(())
    }
}

/// A text as a frame: whole, and unmasked, as servers send them.
fn framed(text: Bytes) -> Unsent {
    const TEXT: u8 = 0x81;
    let head = match (u8::try_from(text.len()), u16::try_from(text.len())) {
        (Ok(length @ ..126), _) => Bytes::copy_from_slice(&[TEXT, length]),
        (_, Ok(length)) => Bytes::from([&[TEXT, 126], length.to_be_bytes().as_slice()].concat()),
        _ => Bytes::from([&[TEXT, 127], (text.len() as u64).to_be_bytes().as_slice()].concat()),
    };
    head.chain(text)
}

/// Writes what is to be sent, after what the protocol itself has to say. May be dropped, and goes on where it was.
async fn push(line: &mut Line, unsent: &mut Unsent, question: Option<Message>) -> Result<(), Error> {
    line.flush().await?;
    line.get_mut().write_all_buf(unsent).await?;
    match question {
        Some(question) => line.send(question).await,
        None => Ok(()),
    }
}

fn config() -> WebSocketConfig {
    WebSocketConfig::default()
        .read_buffer_size(BUFFER)
        .write_buffer_size(0)
        .max_write_buffer_size(2 * OpenFrame::LONGEST)
        .max_message_size(Some(OpenFrame::LONGEST))
        .max_frame_size(Some(OpenFrame::LONGEST))
}

fn ticks(every: Duration) -> Interval {
    let mut ticks = interval_at(Instant::now() + every, every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

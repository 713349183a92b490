//! How messages travel: DDS, as nodes of ROS 2 speak it. Messages are bytes here; what they say is not looked at.

use crate::names::Names;
use crate::topics::{Delivery, Heard, Said};
use ros2_client::dds::rustdds::DomainParticipantBuilder;
use ros2_client::dds::rustdds::mio1::{Events, Interest, Poll, Token};
use ros2_client::dds::{Context, Node, Publisher, Subscription};
use ros2_client::qos::{Durability, History, WhenFull};
use ros2_client::{MessageTypeName, Name, NodeName, NodeOptions, QosProfile};
use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeTuple, Serializer};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

/// Bytes in front of a message that say it is CDR, little-endian.
const LITTLE_ENDIAN: [u8; 4] = [0, 1, 0, 0];
/// No message is longer: an image of 4096 by 4096 pixels in colour has 48 MiB.
const LONGEST: usize = 64 << 20;
/// Messages of a topic that are taken before somebody looks whether to stop: whoever floods it does not hold the node up.
const MOST_AT_ONCE: usize = 200;

/// A message's bytes, with the four in front.
struct Raw(Vec<u8>);

impl<'de> Deserialize<'de> for Raw {
    /// All bytes there are. Bytes are the one thing that CDR does not align, so that one after the other they are what came.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Raw;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("bytes")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut bytes: A) -> Result<Raw, A::Error> {
                let mut all = LITTLE_ENDIAN.to_vec();
                // Their end is the only error that there can be.
                while let Ok(Some(byte)) = bytes.next_element() {
                    all.push(byte);
                }
                Ok(Raw(all))
            }
        }
        from.deserialize_tuple(LONGEST, All)
    }
}

impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let body = &self.0[LITTLE_ENDIAN.len()..];
        let mut tuple = to.serialize_tuple(body.len())?;
        body.iter().try_for_each(|byte| tuple.serialize_element(byte))?;
        tuple.end()
    }
}

/// Where the node is heard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// ROS's domain, 0 to 232.
    pub domain: u16,
    /// Whether this machine alone hears it.
    pub only_here: bool,
}

/// A node of ROS 2.
pub struct Peer {
    poll: Poll,
    events: Events,
    subscriptions: Vec<(Heard, Subscription<Raw>)>,
    publishers: Vec<(Said, Publisher<Raw>)>,
    // It says which node they are of, and goes last.
    _node: Node,
}

impl Peer {
    /// Joins, listens and is ready to publish. Fails with a sentence.
    pub fn join(
        network: Network,
        names: &Names,
        heard: &[(Heard, String)],
        said: &[Said],
    ) -> Result<Self, String> {
        let mut node = node(network, names)?;
        let poll = Poll::new().map_err(|error| format!("cannot wait for messages: {error}"))?;
        let mut subscriptions = Vec::new();
        for (k, (what, topic)) in heard.iter().enumerate() {
            let quality = quality(what.delivery());
            let topic = Topic { name: &names.of(topic), kind: what.kind(), quality: &quality };
            let made = node.create_subscription(&topic.of(&node)?, Some(quality.clone()));
            let mut subscription: Subscription<Raw> = made.map_err(|error| topic.broken(&error))?;
            let registered = poll.registry().register(&mut subscription, Token(k), Interest::READABLE);
            registered.map_err(|error| topic.broken(&error))?;
            subscriptions.push((*what, subscription));
        }
        let mut publishers = Vec::new();
        for what in said {
            let quality = quality(what.delivery());
            let topic = Topic { name: &names.of(what.name()), kind: what.kind(), quality: &quality };
            let made = node.create_publisher(&topic.of(&node)?, Some(quality.clone()));
            publishers.push((*what, made.map_err(|error| topic.broken(&error))?));
        }
        Ok(Self { poll, events: Events::with_capacity(16), subscriptions, publishers, _node: node })
    }

    /// Waits for messages, so long at most, and hands them on topic by topic.
    pub fn listen(&mut self, most: Duration, mut hear: impl FnMut(Heard, &[u8])) -> Result<(), String> {
        // Signals interrupt it, which is as good as time that is up.
        if let Err(error) = self.poll.poll(&mut self.events, Some(most))
            && error.kind() != std::io::ErrorKind::Interrupted
        {
            return Err(format!("cannot wait for messages: {error}"));
        }
        for (what, subscription) in &self.subscriptions {
            for _ in 0..MOST_AT_ONCE {
                match subscription.take() {
                    Ok(Some((Raw(bytes), _))) => hear(*what, &bytes),
                    Ok(None) => break,
                    // In an encoding that nobody here reads; the reader goes on behind it.
                    Err(_) => hear(*what, &[]),
                }
            }
        }
        Ok(())
    }

    /// Sends a message; a reader that does not keep up loses it, and whether one did is the answer.
    pub fn publish(&self, what: Said, bytes: &[u8]) -> bool {
        let publishers = self.publishers.iter().filter(|(of, _)| *of == what);
        publishers.map(|(_, publisher)| publisher.publish(Raw(bytes.to_vec())).is_ok()).all(|sent| sent)
    }
}

/// A topic before it is one.
struct Topic<'a> {
    name: &'a str,
    kind: [&'static str; 2],
    quality: &'a QosProfile,
}

impl Topic<'_> {
    fn of(&self, node: &Node) -> Result<ros2_client::dds::rustdds::Topic, String> {
        let name = Name::parse(self.name).map_err(|error| self.broken(&error))?;
        let [package, kind] = self.kind;
        node.create_topic(&name, MessageTypeName::new(package, kind), self.quality)
            .map_err(|error| self.broken(&error))
    }

    fn broken(&self, error: &dyn fmt::Display) -> String {
        format!("topic {}: {error}", self.name)
    }
}

fn node(network: Network, names: &Names) -> Result<Node, String> {
    let cannot = |error: &dyn fmt::Display| format!("cannot join domain {}: {error}", network.domain);
    let mut builder = DomainParticipantBuilder::new(network.domain);
    if network.only_here {
        builder = builder.with_only_networks([IpAddr::V4(Ipv4Addr::LOCALHOST)]);
    }
    let participant = builder.build().map_err(|error| cannot(&error))?;
    let context = Context::from_domain_participant(participant).map_err(|error| cannot(&error))?;
    let name = NodeName::new(&names.namespace, &names.node).map_err(|error| cannot(&error))?;
    let options = NodeOptions::new().enable_rosout(false).start_parameter_services(false);
    context.new_node(name, options).map_err(|error| cannot(&error))
}

/// Nothing waits for readers that do not keep up.
fn quality(delivery: Delivery) -> QosProfile {
    let profile = QosProfile::subscription_default().history(History::KeepLast { depth: delivery.depth });
    let profile = if delivery.reliable { profile.reliability_reliable(WhenFull::Fail) } else { profile };
    profile.durability(if delivery.latched { Durability::TransientLocal } else { Durability::Volatile })
}

//! Names of topics: in a namespace, and changed by who starts the node.

/// What was typed behind `-r`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// The namespace of relative names, `/` or `/a/b`.
    pub namespace: String,
    /// The node's name.
    pub node: String,
    changed: Vec<(String, String)>,
}

impl Default for Names {
    fn default() -> Self {
        Self { namespace: "/".to_owned(), node: "driftless".to_owned(), changed: Vec::new() }
    }
}

impl Names {
    /// Takes one `from:=to`.
    pub fn change(&mut self, text: &str) -> Result<(), String> {
        let parts = text.split_once(":=").filter(|(from, to)| !from.is_empty() && is_name(to));
        let Some((from, to)) = parts else {
            return Err(format!("-r {text}: must be FROM:=TO, names of letters, digits, _ and /"));
        };
        match from {
            "__ns" => self.namespace = format!("/{}", to.trim_matches('/')),
            "__node" | "__name" => to.trim_matches('/').clone_into(&mut self.node),
            _ => self.changed.push((self.absolute(from), self.absolute(to))),
        }
        Ok(())
    }

    fn absolute(&self, name: &str) -> String {
        let namespace = self.namespace.trim_end_matches('/');
        if name.starts_with('/') { name.to_owned() } else { format!("{namespace}/{name}") }
    }

    /// The whole name of a topic.
    pub fn of(&self, name: &str) -> String {
        let whole = self.absolute(name);
        let changed = self.changed.iter().find(|(from, _)| *from == whole);
        changed.map_or(whole, |(_, to)| to.clone())
    }
}

/// Whether ROS takes it for a name of a topic.
pub fn is_name(text: &str) -> bool {
    let part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !part.contains("__")
    };
    text.len() <= 200 && text.strip_prefix('/').unwrap_or(text).split('/').all(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaces_and_changes() {
        let mut names = Names::default();
        assert_eq!([names.of("scan"), names.of("/tf")], ["/scan", "/tf"]);
        for text in ["__ns:=/robot/a", "scan:=front/scan", "/tf:=tf", "__node:=where"] {
            names.change(text).unwrap();
        }
        assert_eq!([names.of("scan"), names.of("odom")], ["/robot/a/front/scan", "/robot/a/odom"]);
        assert_eq!([names.of("/tf"), names.node.clone()], ["/robot/a/tf", "where"]);
        for text in ["scan", "scan:=", ":=a", "scan:=a b", "scan:=a//b", "scan:=1a", "scan:=a__b", "scan:=a/"]
        {
            assert!(names.change(text).is_err(), "{text}");
        }
    }
}

//! SVG text, piece by piece: numbers short and always written the same way, words escaped.

use std::fmt::Write;

/// `&`, `<`, `>` and quotes as XML and HTML want them; control characters become spaces.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            letter if letter.is_control() => escaped.push(' '),
            letter => escaped.push(letter),
        }
    }
    escaped
}

/// Two decimals, without zeros at the end; what is not finite is held at 0.
pub(super) fn short(value: f64) -> String {
    let value = if value.is_finite() { value.clamp(-1e6, 1e6) } else { 0.0 };
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

/// Where words are anchored.
#[derive(Clone, Copy, Debug)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A drawing that grows.
pub(super) struct Drawing {
    text: String,
}

impl Drawing {
    /// An empty sheet with a title that screen readers say.
    pub(super) fn new(width: f64, height: f64, title: &str, description: &str) -> Self {
        let (w, h) = (short(width), short(height));
        let text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"dl\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" \
             height=\"{h}\" role=\"img\" aria-label=\"{}\"><desc>{}</desc><style>{}</style>\
             <rect class=\"dl-p\" width=\"{w}\" height=\"{h}\" rx=\"8\"/>\n",
            escape(title),
            escape(description),
            super::theme::style()
        );
        Self { text }
    }

    pub(super) fn words(&mut self, class: &str, [x, y]: [f64; 2], anchor: Anchor, words: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let (x, y, words) = (short(x), short(y), escape(words));
        self.raw(&format!(
            "<text class=\"{class}\" x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{words}</text>\n"
        ));
    }

    /// Words that read upwards, centred at a point.
    pub(super) fn upward_words(&mut self, class: &str, [x, y]: [f64; 2], words: &str) {
        let (x, y, words) = (short(x), short(y), escape(words));
        self.raw(&format!(
            "<text class=\"{class}\" transform=\"translate({x},{y}) rotate(-90)\" text-anchor=\"middle\">{words}</text>\n"
        ));
    }

    pub(super) fn line(&mut self, class: &str, [x1, y1]: [f64; 2], [x2, y2]: [f64; 2], more: &str) {
        let [x1, y1, x2, y2] = [x1, y1, x2, y2].map(short);
        self.raw(&format!(
            "<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"{more}/>\n"
        ));
    }

    /// A path through points, closed or not.
    pub(super) fn path(&mut self, points: &[[f64; 2]], closed: bool, attributes: &str) {
        let mut d = String::new();
        for (i, [x, y]) in points.iter().enumerate() {
            let verb = if i == 0 { 'M' } else { 'L' };
            write!(d, "{verb}{},{}", short(*x), short(*y)).expect("strings can be written to");
        }
        let end = if closed { "z" } else { "" };
        self.raw(&format!("<path d=\"{d}{end}\" {attributes}/>\n"));
    }

    pub(super) fn raw(&mut self, text: &str) {
        self.text.push_str(text);
    }

    pub(super) fn finish(mut self) -> String {
        self.raw("</svg>\n");
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let seen = [1.0, -0.001, 2.504, 1e9, f64::NAN, 100.0, 0.5].map(short);
        assert_eq!(seen, ["1", "0", "2.5", "1000000", "0", "100", "0.5"]);
    }

    #[test]
    fn words_cannot_end_their_element() {
        assert_eq!(escape("a<b>&\"c'\n"), "a&lt;b&gt;&amp;&quot;c&#39; ");
    }
}

//! The web page: everything on it is inside it.

use super::group::{Comparison, Group, World, percent};
use super::headline::Headline;
use super::panels::last;
use super::{Chapter, Figure, Picture, TABLES, player};
use crate::chart::{MARKERS, escape};
use crate::record::pooled;
use crate::run::Run;
use crate::table::Table;
use std::collections::{BTreeMap, BTreeSet};

pub(crate) const STYLE: &str = include_str!("page.css");

/// The whole page.
pub(super) fn html(runs: &[&Run], comparison: &Comparison, chapters: &[Chapter], tables: &[Table]) -> String {
    let mut body = String::new();
    body.push_str(&header(runs, chapters));
    body.push_str("<main id=\"main\">\n<section id=\"watch\" aria-labelledby=\"watch-title\">");
    body.push_str("<h2 id=\"watch-title\">Watch a filter at work</h2>\n");
    body.push_str(&player::html(comparison));
    body.push_str("</section>\n");
    for (i, (chapter, world)) in chapters.iter().zip(&comparison.worlds).enumerate() {
        body.push_str(&section(i, chapter, world));
    }
    body.push_str(
        "<section id=\"tables\" aria-labelledby=\"tables-title\"><h2 id=\"tables-title\">Tables</h2>\n",
    );
    for table in tables.iter().filter(|table| !table.is_empty()) {
        body.push_str(&table.to_html());
    }
    let files: Vec<String> = TABLES.iter().take(tables.len()).map(|name| format!("{name}.csv")).collect();
    body.push_str("<p class=\"files\">The same as files: ");
    body.push_str(&files.join(", "));
    body.push_str(", and each as .md.</p></section>\n");
    body.push_str(&settings(runs));
    body.push_str(&missing(runs));
    body.push_str("</main>\n<footer>Made by Driftless. This page needs no network; the same runs give the same bytes.</footer>\n");
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\"><link rel=\"icon\" href=\"data:,\">\
         <title>Driftless report</title>\n<style>{STYLE}{}</style></head>\n<body>\n{body}<script>\n{}</script>\n\
         </body></html>\n",
        crate::chart::style(),
        player::SCRIPT
    )
}

fn header(runs: &[&Run], chapters: &[Chapter]) -> String {
    let methods: BTreeSet<&str> =
        runs.iter().filter_map(|run| run.about()).map(|about| about.label.as_str()).collect();
    let methods: Vec<&str> = methods.into_iter().collect();
    let count = match runs.len() {
        0 => "no runs".to_owned(),
        1 => "one run".to_owned(),
        n => format!("{n} runs"),
    };
    let lead = if methods.is_empty() {
        "No run has been evaluated yet.".to_owned()
    } else {
        format!("{} on held-out trajectories. Lower errors are better.", methods.join(", "))
    };
    let link = |(i, chapter): (usize, &Chapter)| {
        format!("<li><a href=\"#world-{i}\">{}</a></li>", escape(&chapter.world))
    };
    let links: String = chapters.iter().enumerate().map(link).collect();
    format!(
        "<a class=\"skip\" href=\"#main\">Skip to the content</a>\n<header><p class=\"brand\">Driftless</p>\
         <h1>Report on {count}</h1><p class=\"lead\">{}</p>\n<nav aria-label=\"Sections\"><ul>\
         <li><a href=\"#watch\">Player</a></li>{links}<li><a href=\"#tables\">Tables</a></li>\
         <li><a href=\"#missing\">What is missing</a></li></ul></nav></header>\n",
        escape(&lead)
    )
}

fn section(index: usize, chapter: &Chapter, world: &World) -> String {
    let mut text = format!(
        "<section id=\"world-{index}\" aria-labelledby=\"world-{index}-title\">\
         <h2 id=\"world-{index}-title\">{}</h2>\n{}",
        escape(&chapter.world),
        cards(world)
    );
    if chapter.figures.is_empty() {
        text.push_str("<p class=\"missing\">There are no figures to draw yet.</p>\n");
    } else {
        text.push_str(&figures(&chapter.figures));
    }
    for (share, others) in &chapter.others {
        let summary = escape(&format!("The same with {share} labels"));
        let folded = format!("<details><summary>{summary}</summary>\n{}</details>\n", figures(others));
        text.push_str(&folded);
    }
    if !chapter.tracking.is_empty() {
        text.push_str("<h3>An episode on the map</h3>\n");
        text.push_str(&figures(&chapter.tracking));
    }
    text + "</section>\n"
}

/// The figure everybody asks for first, by method.
fn cards(world: &World) -> String {
    let Some(share) = world.main_share() else { return String::new() };
    let headline = Headline::of(world);
    let card = |group: &Group| {
        let (figure, decimals) = (headline.figure(group)?, headline.decimals);
        let error = figure
            .standard_error
            .map_or(String::new(), |error| format!(" <small>± {error:.decimals$}</small>"));
        let lost = pooled(&last(group, |step| step.lost));
        let lost = lost.map_or(String::new(), |lost| format!(", {} lost", one_decimal(lost.value)));
        Some(format!(
            "<li class=\"dl-s{}\"><span class=\"who\">{}</span><span class=\"big\">{:.decimals$}{error}</span>\
             <span class=\"what\">{}, {} labels{lost}</span></li>\n",
            group.colour % MARKERS.len(),
            escape(&group.label),
            figure.value,
            escape(&headline.name),
            percent(share)
        ))
    };
    let cards: String = world.at(share).filter_map(card).collect();
    if cards.is_empty() { cards } else { format!("<ul class=\"cards\">\n{cards}</ul>\n") }
}

fn one_decimal(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn figures(figures: &[Figure]) -> String {
    let one = |figure: &Figure| {
        let end = match figure.picture {
            Picture::Svg(_) => "svg",
            Picture::Png(_) => "png",
        };
        format!(
            "<figure data-figure=\"{name}\">{}<figcaption>{} <span class=\"files\">({name}.{end})</span></figcaption></figure>\n",
            figure.html(),
            escape(&figure.caption),
            name = escape(&figure.name)
        )
    };
    format!("<div class=\"figures\">\n{}</div>\n", figures.iter().map(one).collect::<String>())
}

/// The configuration of each run, folded away.
fn settings(runs: &[&Run]) -> String {
    let one = |run: &&&Run| {
        let config = run.config.as_deref().unwrap_or_default();
        let (name, lines): (String, Vec<String>) = (escape(&run.name), config.lines().map(escape).collect());
        format!(
            "<h3>{name}</h3>\n<pre tabindex=\"0\" aria-label=\"Settings of {name}\">{}</pre>\n",
            lines.join("\n")
        )
    };
    let has_settings = |run: &&&Run| run.config.as_ref().is_some_and(|config| !config.trim().is_empty());
    let all: String = runs.iter().filter(has_settings).map(|run| one(&run)).collect();
    if all.is_empty() {
        all
    } else {
        format!("<details><summary>Settings of every run</summary>\n{all}</details>\n")
    }
}

/// Everything that is missing, and in which runs.
fn missing(runs: &[&Run]) -> String {
    let mut lacking: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for run in runs {
        for what in run.missing() {
            lacking.entry(what).or_default().push(&run.name);
        }
    }
    let item = |(what, names): (String, Vec<&str>)| {
        format!("<li>{} <span class=\"quiet\">({})</span></li>\n", escape(&what), escape(&names.join(", ")))
    };
    let list = if runs.is_empty() {
        "<p class=\"missing\">There are no runs.</p>".to_owned()
    } else if lacking.is_empty() {
        "<p>Nothing: every run has metrics, an evaluation and episodes.</p>".to_owned()
    } else {
        format!("<ul class=\"missing\">\n{}</ul>", lacking.into_iter().map(item).collect::<String>())
    };
    format!(
        "<section id=\"missing\" aria-labelledby=\"missing-title\"><h2 id=\"missing-title\">What is missing</h2>\n\
         {list}</section>\n"
    )
}

//! Default classes: a tree of named sets of attributes.

use super::super::names::Names;
use super::super::xml::{Attribute, Document, Node};
use super::attributes::Attributes;

/// Number of a class; 0 is the outermost, `main`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClassId(usize);

struct Class<'a> {
    parent: Option<ClassId>,
    elements: Vec<Node<'a>>,
}

pub(super) struct Classes<'a> {
    classes: Vec<Class<'a>>,
    names: Names<ClassId>,
}

impl<'a> Classes<'a> {
    pub(super) const MAIN: ClassId = ClassId(0);

    pub(super) fn read(root: Node<'a>) -> Self {
        let doc = root.doc;
        let mut all =
            Self { classes: vec![Class { parent: None, elements: Vec::new() }], names: Names::new("class") };
        let mut work: Vec<(Node<'a>, Option<ClassId>)> =
            root.named("default").map(|node| (node, None)).collect::<Vec<_>>().into_iter().rev().collect();
        while let Some((node, parent)) = work.pop() {
            node.element.read.set(true);
            let name = node.attribute("class");
            let id = match parent {
                // The outermost may be said again by included files.
                None => Self::MAIN,
                Some(_) => {
                    all.classes.push(Class { parent, elements: Vec::new() });
                    ClassId(all.classes.len() - 1)
                }
            };
            match name {
                Some(name) if parent.is_some() || all.names.get(&name.value).is_none() => {
                    all.names.add(doc, &name.value, id, name.value_span);
                }
                None if parent.is_some() => node.error("this `default` needs the attribute `class`"),
                _ => {}
            }
            let mut inner = Vec::new();
            for child in node.children() {
                if child.name() == "default" {
                    inner.push((child, Some(id)));
                } else {
                    all.classes[id.0].elements.push(child);
                }
            }
            work.extend(inner.into_iter().rev());
        }
        if all.names.get("main").is_none() {
            all.names.add(doc, "main", Self::MAIN, root.span());
        }
        all
    }

    /// The class that an attribute names.
    pub(super) fn find(&self, doc: &Document, attribute: &Attribute) -> Option<ClassId> {
        self.names.find(doc, attribute)
    }

    /// The class of an element: the one that it names, or else `class`.
    pub(super) fn class_of(&self, node: Node<'a>, class: ClassId) -> ClassId {
        node.attribute("class").and_then(|a| self.find(node.doc, a)).unwrap_or(class)
    }

    /// An element over its defaults, which stand under `tag`.
    pub(super) fn over(&self, node: Node<'a>, tag: &str, class: ClassId) -> Attributes<'a> {
        let mut attributes = Attributes::alone(node);
        self.each_nearest_first(self.class_of(node, class), |layer| {
            if layer.name() == tag {
                layer.element.read.set(true);
                attributes.layers.push(layer);
            }
        });
        attributes
    }

    /// The elements of a class and of those around it, nearest first.
    pub(super) fn each_nearest_first(&self, class: ClassId, mut visit: impl FnMut(Node<'a>)) {
        let mut at = Some(class);
        while let Some(id) = at {
            let class = &self.classes[id.0];
            class.elements.iter().rev().for_each(|node| visit(*node));
            at = class.parent;
        }
    }
}

//! The JSON Schema that editors use.

use dalembert::describe::{Field, Kind, Literal, MAX_NAME, Need, Rule, Table, When, Word};
use serde_json::{Map, Value as Json, json};

/// All tables that can be reached from `root`, each once, `root` first.
pub(super) fn tables_below(root: &'static Table) -> Vec<&'static Table> {
    fn add(kind: &'static Kind, all: &mut Vec<&'static Table>) {
        match kind {
            Kind::Table(table) | Kind::Tables(table) => match all.iter().find(|k| k.name == table.name) {
                // The schema and the reference call tables by their names.
                Some(known) => debug_assert!(
                    known.fields.iter().map(|f| f.key).eq(table.fields.iter().map(|f| f.key)),
                    "two tables are called `{}`",
                    table.name
                ),
                None => all.push(table),
            },
            Kind::List { item, .. } | Kind::Map(item) => add(item, all),
            Kind::Either(kinds) => kinds.iter().for_each(|kind| add(kind, all)),
            _ => {}
        }
    }
    let mut all = vec![root];
    let mut next = 0;
    while let Some(table) = all.get(next).copied() {
        table.fields.iter().for_each(|field| add(&field.kind, &mut all));
        next += 1;
    }
    all
}

/// The JSON Schema (draft 2020-12) of the files that `root` describes.
pub fn json_schema(root: &'static Table) -> Json {
    let mut schema = table_schema(root);
    let tables = tables_below(root);
    let definitions: Map<String, Json> =
        tables.iter().map(|table| (table.name.to_owned(), table_schema(table))).collect();
    if let Json::Object(keys) = &mut schema {
        keys.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        keys.insert("title".to_owned(), json!(root.name));
        keys.insert("$defs".to_owned(), Json::Object(definitions));
    }
    schema
}

fn table_schema(table: &'static Table) -> Json {
    let mut properties = Map::new();
    let mut required = Vec::new();
    let mut all_of = Vec::new();
    for field in table.fields {
        properties.insert(field.key.to_owned(), field_schema(field));
        let is_required = matches!(field.need, Need::Required);
        match &field.when {
            None if is_required => required.push(field.key),
            None => {}
            Some(when) => all_of.push(when_schema(table, field, when)),
        }
    }
    let has = |key: &&str| json!({ "required": [key] });
    let pairs = |keys: &[&str]| -> Vec<Json> {
        let pair = |i: usize, j: usize| json!({ "not": { "required": [keys[i], keys[j]] } });
        (0..keys.len()).flat_map(|j| (0..j).map(move |i| pair(i, j))).collect()
    };
    for rule in table.rules {
        match rule {
            Rule::ExactlyOne(keys) => {
                all_of.push(json!({ "oneOf": keys.iter().map(has).collect::<Vec<_>>() }))
            }
            Rule::AtLeastOne(keys) => {
                all_of.push(json!({ "anyOf": keys.iter().map(has).collect::<Vec<_>>() }))
            }
            Rule::AtMostOne(keys) => all_of.extend(pairs(keys)),
            Rule::Together(keys) => {
                let needs: Map<String, Json> =
                    keys.iter().map(|key| ((*key).to_owned(), json!(keys))).collect();
                all_of.push(json!({ "dependentRequired": needs }));
            }
        }
    }
    let mut schema = json!({
        "type": "object",
        "description": table.doc,
        "properties": properties,
        "additionalProperties": false,
    });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    if !all_of.is_empty() {
        schema["allOf"] = json!(all_of);
    }
    schema
}

fn when_schema(table: &Table, field: &Field, when: &When) -> Json {
    let by_default = match table.field(when.key).map(|field| field.need) {
        Some(Need::Default(Literal::Text(word))) => when.words.contains(&word),
        _ => false,
    };
    let mut condition = json!({ "properties": { when.key: { "enum": when.words } } });
    if !by_default {
        condition["required"] = json!([when.key]);
    }
    let mut schema = json!({ "if": condition, "else": { "properties": { field.key: false } } });
    if matches!(field.need, Need::Required) {
        schema["then"] = json!({ "required": [field.key] });
    }
    schema
}

fn field_schema(field: &'static Field) -> Json {
    let mut schema = kind_schema(&field.kind);
    let unit = if field.unit.is_empty() { String::new() } else { format!(" Unit: {}.", field.unit) };
    schema["description"] = json!(format!("{}{unit}", field.doc));
    if let Need::Default(literal) = &field.need {
        schema["default"] = literal_json(literal);
    }
    schema
}

fn kind_schema(kind: &'static Kind) -> Json {
    match kind {
        Kind::Bool => json!({ "type": "boolean" }),
        Kind::Integer { min, max } => {
            let mut schema = json!({ "type": "integer" });
            if *min > i64::MIN {
                schema["minimum"] = json!(min);
            }
            if *max < i64::MAX {
                schema["maximum"] = json!(max);
            }
            schema
        }
        Kind::Number(range) => {
            let mut schema = json!({ "type": "number" });
            if range.min > f64::NEG_INFINITY {
                schema[if range.above { "exclusiveMinimum" } else { "minimum" }] = json_number(range.min);
            }
            if range.max < f64::INFINITY {
                schema[if range.below { "exclusiveMaximum" } else { "maximum" }] = json_number(range.max);
            }
            schema
        }
        Kind::Text => json!({ "type": "string" }),
        Kind::Name => json!({ "type": "string", "minLength": 1, "maxLength": MAX_NAME }),
        Kind::Word(words) => {
            let word = |word: &Word| json!({ "const": word.word, "description": word.doc });
            json!({ "oneOf": words.iter().map(word).collect::<Vec<_>>() })
        }
        Kind::List { item, min, max } => {
            let mut schema = json!({ "type": "array", "items": kind_schema(item) });
            if *min > 0 {
                schema["minItems"] = json!(min);
            }
            if *max < usize::MAX {
                schema["maxItems"] = json!(max);
            }
            schema
        }
        Kind::Map(item) => json!({ "type": "object", "additionalProperties": kind_schema(item) }),
        Kind::Table(table) => json!({ "$ref": format!("#/$defs/{}", table.name) }),
        Kind::Tables(table) => {
            json!({ "type": "array", "items": { "$ref": format!("#/$defs/{}", table.name) } })
        }
        Kind::Either(kinds) => json!({ "anyOf": kinds.iter().map(kind_schema).collect::<Vec<_>>() }),
    }
}

/// 0 rather than 0.0.
pub(super) fn json_number(value: f64) -> Json {
    if value.fract() == 0.0 && value.abs() < 1e15 { json!(value as i64) } else { json!(value) }
}

fn literal_json(literal: &Literal) -> Json {
    match literal {
        Literal::Bool(value) => json!(value),
        Literal::Integer(value) => json!(value),
        Literal::Number(value) => json_number(*value),
        Literal::Text(text) => json!(text),
        Literal::Numbers(numbers) => numbers.iter().copied().map(json_number).collect(),
        Literal::Texts(texts) => json!(texts),
    }
}

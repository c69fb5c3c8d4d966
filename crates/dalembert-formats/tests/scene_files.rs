//! Scene files: what is read, what is refused, and what the refusal says.

mod sample;

use dalembert_formats::describe::{json_schema, markdown, read};
use dalembert_formats::error::{MAX_ERRORS, SceneFileError, Severity, suggest};
use dalembert_formats::source::{Includes, MAX_FILE, Source};
use dalembert_formats::tree::{MAX_DEPTH, Value};
use sample::{JSON, ROOT, TOML};

/// The error of a text, from the parser or from the check.
fn refusal(name: &str, text: &str) -> SceneFileError {
    match Source::from_text(name, text) {
        Err(error) => error,
        Ok(source) => match read(&ROOT, &source.root, &source.files) {
            Err(error) => error,
            Ok(_) => panic!("accepted:\n{text}"),
        },
    }
}

/// Message, line, column and help of the only error of a text.
fn only(name: &str, text: &str) -> (String, (usize, usize), Option<String>) {
    let error = refusal(name, text);
    assert_eq!(error.diagnostics().len(), 1, "{error}");
    let one = &error.diagnostics()[0];
    assert_eq!(one.file_name(), Some(name));
    (one.message.clone(), one.line_column().unwrap(), one.help.clone())
}

#[track_caller]
fn refuses(text: &str, message: &str, line_column: (usize, usize), help: Option<&str>) {
    let found = only("a.toml", text);
    assert_eq!(found, (message.to_owned(), line_column, help.map(str::to_owned)));
}

#[track_caller]
fn refuses_json(text: &str, message: &str, line_column: (usize, usize), help: Option<&str>) {
    let found = only("a.json", text);
    assert_eq!(found, (message.to_owned(), line_column, help.map(str::to_owned)));
}

// ------------------------------------------------------------------------------------- reading

#[test]
fn toml_and_json_of_the_same_content_give_the_same_tree() {
    let toml = Source::from_text("a.toml", TOML).unwrap();
    let json = Source::from_text("a.JSON", JSON).unwrap();
    assert!(toml.root.says_the_same_as(&json.root));
    let other = Source::from_text("a.toml", TOML.replace("wrist = -1", "wrist = -1.0")).unwrap();
    assert!(!toml.root.says_the_same_as(&other.root));
}

#[test]
fn tables_keep_the_order_of_the_file() {
    let source = Source::from_text("a.toml", "z = 1\nb.y = 1\na = 1\nb.x = 2\n[c.d]\n[b2]\n[b1]").unwrap();
    let Value::Table(entries) = &source.root.value else { panic!() };
    let keys: Vec<&str> = entries.iter().map(|entry| &*entry.key).collect();
    assert_eq!(keys, ["z", "b", "a", "c", "b2", "b1"]);
}

#[test]
fn a_good_file_gives_its_values_its_defaults_and_their_places() {
    for (name, text) in [("a.toml", TOML), ("a.json", JSON)] {
        let source = Source::from_text(name, text).unwrap();
        let scene = read(&ROOT, &source.root, &source.files).unwrap();
        assert_eq!(scene.text("title"), "A ball hits a door: \"ouch\"");
        assert_eq!(scene.number("dt"), 0.005);
        assert_eq!(scene.vec3("gravity"), [0.0, 0.0, -9.81]);
        assert_eq!(scene.integer("seed"), 7);
        assert_eq!(scene.texts("watch"), ["all"]);
        assert!(!scene.has("gravity") && scene.has("dt"));
        let bodies = scene.tables("rigid");
        assert_eq!(bodies.len(), 2);
        assert_eq!(bodies[0].text("name"), "door");
        assert_eq!(bodies[0].number("friction"), 0.5);
        assert!(!bodies[0].bool("fixed") && bodies[1].bool("fixed"));
        assert_eq!(bodies[0].maybe_number("mass"), None);
        assert_eq!(bodies[1].numbers("tint"), [1.0, 0.5, 0.25]);
        let shape = bodies[0].table("shape").unwrap();
        assert_eq!((shape.variant(), shape.vec3("box")), ("box", [0.8, 0.05, 2.0]));
        let cloth = scene.table("cloth").unwrap();
        assert_eq!(cloth.vec3s("points")[1], [1.0, 0.0, 0.0]);
        assert_eq!(cloth.integer_rows("triangles"), [[0, 1, 2]]);
        assert_eq!(cloth.integers("pins"), [0, 1]);
        assert_eq!(cloth.texts("touches"), ["door"]);
        let control: Vec<&str> = scene.entries("control").iter().map(|entry| &*entry.key).collect();
        assert_eq!(control, ["elbow", "wrist"]);
        // Later errors point into the file.
        let joint = scene.tables("joint")[0];
        let place = source.files.place(joint.item_span("between", 1)).unwrap();
        let text = &place.file.text()[place.bytes.clone()];
        assert_eq!(text, "\"door\"");
        assert_eq!(place.line_column(), if name == "a.toml" { (16, 21) } else { (10, 45) });
    }
}

// ------------------------------------------------------------------------------ the printed form

#[test]
fn an_error_prints_its_place_its_line_and_a_suggestion() {
    let text = "dt = 0.01\n\n[[joint]]\nkind = \"ball\"\nbetween = [\"a\", \"b\"]\nstifness = 10 # soft\n";
    assert_eq!(
        refusal("scenes/a.toml", text).to_string(),
        "error: unknown key `stifness` in `joint`
 --> scenes/a.toml:6:1
  |
6 | stifness = 10 # soft
  | ^^^^^^^^
help: did you mean `stiffness`?"
    );
}

#[test]
fn several_errors_are_printed_together() {
    let text =
        "\n\n\n\n\n\n\n\n\ndt = -1.0\n[[rigid]]\nname = \"a b\"\nshape = { sphere = 1, box = [1, 2, 3] }\n";
    assert_eq!(
        refusal("a.toml", text).to_string(),
        "error: `dt` must be greater than 0, not -1.0
  --> a.toml:10:6
   |
10 | dt = -1.0
   |      ^^^^

error: the name `a b` contains ` `
  --> a.toml:12:8
   |
12 | name = \"a b\"
   |        ^^^^^
help: names are made of letters, digits, `_`, `-` and `.`

error: `sphere` and `box` exclude each other in `shape`
  --> a.toml:13:23
   |
13 | shape = { sphere = 1, box = [1, 2, 3] }
   |                       ^^^
note: `sphere` stands here: a.toml:13:11
help: give only one of `box` and `sphere`"
    );
}

#[test]
fn long_lines_and_control_characters_do_not_reach_the_terminal() {
    let text = format!("dt = 1\ntitle = \"{}\", é\u{1b}[31m = [{}]\n", "x".repeat(5000), "1,".repeat(5000));
    let printed = refusal("a\u{1b}.toml", &text).to_string();
    assert!(printed.chars().all(|c| c == '\n' || !c.is_control()), "{printed:?}");
    assert!(printed.lines().all(|line| line.chars().count() < 120), "{printed}");
    let marked: Vec<&str> = printed.lines().filter(|line| line.contains('…') || line.contains('^')).collect();
    assert_eq!(marked.len(), 2, "{printed}");
    let column = |line: &str, wanted: char| line.chars().position(|c| c == wanted);
    assert_eq!(column(marked[1], '^'), column(marked[0], ','), "{printed}");
}

#[test]
fn columns_count_characters() {
    refuses(
        "dt = 1\ntitle = \"äöü→\"  \u{20}x",
        "unexpected key or value, expected newline, `#`",
        (2, 18),
        None,
    );
    refuses_json(
        "{\"dt\": 1, \"title\": \"äöü→😀\", \"sed\": 1}",
        "unknown key `sed` in `scene`",
        (1, 29),
        Some("did you mean `seed`?"),
    );
}

#[test]
fn diagnostics_serve_miette() {
    use miette::Diagnostic as _;
    let long = format!("dt = 1\nrgid = [{}]", "1,".repeat(100_000));
    for text in ["dt = 1\n\n\nrgid = []", &long] {
        let error = refusal("a.toml", text);
        let one = error.related().unwrap().next().unwrap();
        let label = one.labels().unwrap().next().unwrap();
        let contents = one.source_code().unwrap().read_span(label.inner(), 1, 1).unwrap();
        assert_eq!(contents.name(), Some("a.toml"));
        assert!(contents.data().len() < 5000);
        let shown = std::str::from_utf8(contents.data()).unwrap();
        assert_eq!(&shown[label.offset() - contents.span().offset()..][..label.len()], "rgid");
        assert_eq!(one.help().unwrap().to_string(), "did you mean `rigid`?");
        let mut page = String::new();
        miette::NarratableReportHandler::new().render_report(&mut page, &error).unwrap();
        assert!(page.contains("rgid") && page.len() < 10_000, "{page}");
    }
}

#[test]
fn a_warning_has_the_shape_of_an_error() {
    let source = Source::from_text("a.toml", "dt = 1\n").unwrap();
    let scene = read(&ROOT, &source.root, &source.files).unwrap();
    let warning = source.files.warning(scene.span("dt"), "a large step");
    assert_eq!(warning.severity, Severity::Warning);
    assert_eq!(warning.to_string(), "warning: a large step\n --> a.toml:1:6\n  |\n1 | dt = 1\n  |      ^");
}

#[test]
fn the_list_of_errors_ends() {
    let text: String = (0..100_000).map(|i| format!("key{i} = 1\n")).collect();
    let error = refusal("a.toml", &text);
    assert_eq!(error.diagnostics().len(), MAX_ERRORS);
    assert!(error.has_more() && error.to_string().ends_with("reading stopped after 20"));
}

#[test]
fn suggestions_are_near_or_absent() {
    let keys = ["stiffness", "damping", "rest_length", "dt"];
    assert_eq!(suggest("stifness", keys), Some("stiffness"));
    assert_eq!(suggest("Rest-Length", keys), Some("rest_length"));
    assert_eq!(suggest("restlength", keys), Some("rest_length"));
    assert_eq!(suggest("dmaping", keys), Some("damping"));
    assert_eq!(suggest("td", keys), Some("dt"));
    assert_eq!(suggest("colour", keys), None);
    assert_eq!(suggest("x", keys), None);
    assert_eq!(suggest("", keys), None);
    assert_eq!(suggest(&"stiffness".repeat(1000), keys), None);
}

// ---------------------------------------------------------------------------- errors of the check

#[test]
fn each_mistake_in_a_value_is_named_where_it_stands() {
    let help = |text: &'static str| Some(text);
    refuses("title = \"x\"", "`scene` lacks the key `dt`", (1, 1), help("dt: step size"));
    refuses(
        "dt = \"0.1\"",
        "`dt` wants a number, found the text `0.1`",
        (1, 6),
        help("write it without quotation marks"),
    );
    refuses("dt = true", "`dt` wants a number, found `true`", (1, 6), None);
    refuses("dt = 0", "`dt` must be greater than 0, not 0.0", (1, 6), None);
    refuses("dt = nan", "`dt` must be a finite number, not NaN", (1, 6), None);
    refuses("dt = -inf", "`dt` must be a finite number, not -inf", (1, 6), None);
    refuses("dt = 1e999", "the number is too large for a 64-bit float", (1, 6), None);
    refuses("dt = 1\nseed = 1.5", "`seed` wants an integer, found the number 1.5", (2, 8), None);
    refuses("dt = 1\nseed = -1", "`seed` must be from 0 to 1000, not -1", (2, 8), None);
    refuses(
        "dt = 1\nseed = 99999999999999999999",
        "`seed` wants an integer, found the number 1e20",
        (2, 8),
        None,
    );
    refuses("dt = 1\nseed = 0xfffffffffffffffff", "the integer does not fit 64 bits", (2, 8), None);
    refuses(
        "dt = 1\ngravity = [0, 1]",
        "`gravity` wants a list of 3 numbers, found a list of 2",
        (2, 11),
        None,
    );
    refuses(
        "dt = 1\ngravity = 9.81",
        "`gravity` wants a list of 3 numbers, found the number 9.81",
        (2, 11),
        None,
    );
    refuses("dt = 1\ngravity = [0, \"a\", 0]", "`gravity` wants a number, found the text `a`", (2, 15), None);
    refuses("dt = 1\nmethod = \"Ipc\"", "`method` cannot be `Ipc`", (2, 10), help("did you mean `ipc`?"));
    refuses(
        "dt = 1\nmethod = \"magic\"",
        "`method` cannot be `magic`",
        (2, 10),
        help("it is one of `explicit`, `impulse` and `ipc`"),
    );
    refuses(
        "dt = 1\ntolerance = 1",
        "`tolerance` has no meaning with method = `impulse`",
        (2, 1),
        help("it belongs to method = `ipc`"),
    );
    refuses(
        "dt = 1\nwatch = 3",
        "`watch` wants a text or a list of texts, found the integer 3",
        (2, 9),
        None,
    );
    refuses("dt = 1\nwatch = [\"a\", 3]", "`watch` wants a text, found the integer 3", (2, 15), None);
    refuses(
        "dt = 1\n[control]\n\"a b\" = 1",
        "the name `a b` contains ` `",
        (3, 1),
        help("names are made of letters, digits, `_`, `-` and `.`"),
    );
    refuses("dt = 1\n[control]\na = \"b\"", "`a` wants a number, found the text `b`", (3, 5), None);
    refuses(
        "dt = 1\n[cloth]\npins = []",
        "`cloth` wants at least one of `points` and `triangles`",
        (2, 1),
        None,
    );
    refuses(
        "dt = 1\n[cloth]\npoints = [[1, 2]]",
        "`points` wants a list of 3 numbers, found a list of 2",
        (3, 11),
        None,
    );
}

#[test]
fn each_mistake_in_a_table_is_named_where_it_stands() {
    let help = |text: &'static str| Some(text);
    refuses("dt = 1\ncloth = 1", "`cloth` wants a table (cloth), found the integer 1", (2, 9), None);
    refuses(
        "dt = 1\n[rigid]\nname = \"a\"",
        "`rigid` wants a list of tables (rigid), found a table",
        (2, 1),
        help("write `[[rigid]]` for each `rigid`"),
    );
    refuses("dt = 1\nrigid = [3]", "`rigid` wants a table, found the integer 3", (2, 10), None);
    refuses(
        "dt = 1\n[[rigid]]\nname = \"\"\nshape = \"s\"",
        "a name in `name` is empty",
        (3, 8),
        help("names are made of letters, digits, `_`, `-` and `.`"),
    );
    refuses(
        "dt = 1\n\n  [[rigid]]\nname = \"a\"",
        "`rigid` lacks the key `shape`",
        (3, 3),
        help("shape: its shape"),
    );
    refuses(
        "dt = 1\n[[rigid]]\nname = \"a\"\nshape = {}",
        "`shape` wants exactly one of `box` and `sphere`",
        (4, 9),
        None,
    );
    refuses(
        "dt = 1\n[[rigid]]\nname = \"a\"\nshape = \"s\"\ntint = 1",
        "`tint` wants `friction` beside it",
        (5, 1),
        None,
    );
    refuses(
        "dt = 1\n[[rigid]]\nname = \"a\"\nshape = 1",
        "`shape` wants a name or a table (shape), found the integer 1",
        (4, 9),
        None,
    );
    refuses(
        "dt = 1\n[[rigid]]\nname = \"a\"\nshape = \"s\"\nmass = 1\ndensity = 1",
        "`mass` and `density` exclude each other in `rigid`",
        (6, 1),
        help("give only one of `mass` and `density`"),
    );
    refuses(
        "dt = 1\n[[joint]]\nkind = \"hinge\"\nbetween = [\"a\", \"b\"]",
        "`joint` lacks the key `axis`",
        (2, 1),
        help("axis: its axis"),
    );
    refuses(
        "dt = 1\n[[joint]]\nkind = \"ball\"\nbetween = [\"a\", \"b\"]\naxis = [0, 0, 1]",
        "`axis` has no meaning with kind = `ball`",
        (5, 1),
        help("it belongs to kind = `hinge` or `slider`"),
    );
    refuses("dt = 1\nfloor = \"plain\"", "`floor` cannot be `plain`", (2, 9), help("did you mean `plane`?"));
    // A wrong deciding word is reported once, and does not drag the other keys along.
    refuses(
        "dt = 1\n[[joint]]\nkind = \"henge\"\nbetween = [\"a\", \"b\"]\naxis = [0, 0, 1]",
        "`kind` cannot be `henge`",
        (3, 8),
        help("did you mean `hinge`?"),
    );
}

// --------------------------------------------------------------------------- errors of the parsers

#[test]
fn toml_mistakes_are_named_where_they_stand() {
    refuses("dt = 1\nseed = 1\ndt = 2", "the key `dt` is given twice", (3, 1), None);
    refuses(
        "dt = 1\ntitle = 2026-11-15",
        "a date or time has no meaning here",
        (2, 9),
        Some("write it as text, between quotation marks"),
    );
    let (_, place, _) = only("a.toml", "dt = 1\ngravity = [0, 0");
    assert_eq!(place.0, 2);
    let (_, place, _) = only("a.toml", "dt = ");
    assert_eq!(place, (1, 6));
    let (_, place, _) = only("a.toml", "dt = 1\r\ntitle = \"abc\r\nseed = 1");
    assert_eq!(place.0, 2);
}

#[test]
fn json_mistakes_are_named_where_they_stand() {
    refuses_json("", "expected `{`, found the end of the file", (1, 1), None);
    refuses_json("[]", "expected `{`, found `[`", (1, 1), None);
    refuses_json("{} x", "expected the end of the file, found `x`", (1, 4), None);
    refuses_json("{\n  \"dt\": 1,\n}", "expected a key between quotation marks, found `}`", (3, 1), None);
    refuses_json("{\"dt\" 1}", "expected `:`, found `1`", (1, 7), None);
    refuses_json("{\"dt\": 1 \"a\"}", "expected `,` or `}`, found `\"`", (1, 10), None);
    refuses_json("{\"watch\": [1 2]}", "expected `,` or `]`, found `2`", (1, 14), None);
    refuses_json("{\"dt\": null}", "`null` has no meaning here", (1, 8), Some("leave the key out"));
    refuses_json("{\"dt\": NaN}", "unexpected `NaN`: text stands between quotation marks", (1, 8), None);
    refuses_json("{\"dt\": 01}", "this is not a number of JSON", (1, 8), None);
    refuses_json("{\"dt\": -}", "this is not a number of JSON", (1, 8), None);
    refuses_json("{\"dt\": 1.}", "digits must follow the decimal point", (1, 8), None);
    refuses_json("{\"dt\": 1e}", "digits must follow the exponent sign", (1, 8), None);
    refuses_json("{\"dt\": 1e999}", "the number is too large for a 64-bit float", (1, 8), None);
    refuses_json("{\"dt\": \"a\n\"}", "the text does not end: its closing `\"` is missing", (1, 8), None);
    refuses_json("{\"dt\": \"a\tb\"}", "a control character in a text must be escaped", (1, 10), None);
    refuses_json("{\"dt\": \"\\é\"}", "unknown escape in a text", (1, 9), None);
    refuses_json("{\"dt\": \"\\ud800\"}", "half of a surrogate pair in a text", (1, 9), None);
    refuses_json("{\"dt\": \"\\u12g4\"}", "`\\u` wants four hexadecimal digits", (1, 9), None);
    refuses_json("{\"dt\": 1 // step\n}", "expected `,` or `}`, found `/`", (1, 10), None);
    refuses_json("{\"dt\": 1, \"a\": 1,\n \"a\": 2}", "the key `a` is given twice", (2, 2), None);
    let printed = refusal("a.json", "{\"a\": 1,\n \"a\": 2}").to_string();
    assert!(printed.ends_with("\nnote: first given here: a.json:1:2"), "{printed}");
    let source = Source::from_text("a.json", "\u{feff}{\"title\": \"\\ud83d\\ude00\\n\"}").unwrap();
    let Value::Text(text) = &source.root.entry("title").unwrap().node.value else { panic!() };
    assert_eq!(text, "😀\n");
}

#[test]
fn nesting_has_a_limit_and_no_bomb_overflows_the_stack() {
    let n = 100_000;
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(Source::from_text("a.toml", format!("a = {}", nested(MAX_DEPTH))).is_ok());
    assert!(Source::from_text("a.json", format!("{{\"a\": {}}}", nested(MAX_DEPTH))).is_ok());
    let dotted = |depth: usize| vec!["a"; depth].join(".");
    let multiplied =
        format!("[{0}]\n{1}x = 1{2}", dotted(60), format!("{} = {{", dotted(60)).repeat(60), "}".repeat(60));
    let header_and_key = format!("[{0}]\n{0} = 1", dotted(40));
    let arrays_of_tables: String = (1..80).map(|depth| format!("[[{}]]\n", dotted(depth))).collect();
    let bombs = [
        ("a.toml", format!("a = {}", nested(MAX_DEPTH + 1))),
        ("a.json", format!("{{\"a\": {}}}", nested(MAX_DEPTH + 1))),
        ("a.toml", format!("a = {}", nested(n))),
        ("a.toml", format!("a = {}", "[".repeat(n))),
        ("a.toml", format!("a = {}", "{a = ".repeat(n))),
        ("a.toml", format!("a = {}", "[{a = ".repeat(n))),
        ("a.toml", format!("{} = 1", dotted(n))),
        ("a.toml", format!("[{}]", dotted(n))),
        ("a.toml", multiplied),
        ("a.toml", header_and_key),
        ("a.toml", arrays_of_tables),
        ("a.json", format!("{{\"a\": {}}}", nested(n))),
        ("a.json", "{\"a\":".repeat(n)),
        ("a.json", format!("{{\"a\": {}", "[".repeat(n))),
    ];
    for (name, text) in bombs {
        let small_stack = std::thread::Builder::new().stack_size(256 << 10);
        let error =
            small_stack.spawn(move || Source::from_text(name, text).unwrap_err()).unwrap().join().unwrap();
        let message = &error.diagnostics()[0].message;
        assert_eq!(message, "lists and tables are nested more than 64 deep");
    }
}

#[test]
fn innocent_dots_and_brackets_do_not_count_as_nesting() {
    let floats = vec!["1.5"; 1000].join(", ");
    let broken = vec!["1.5"; 1000].join(",\n");
    let text = format!(
        "a = [{floats}]\nb = [{broken}]\nc = \"{0}\"\nd = '{0}'\ne = \"\"\"{0}\n{0}\\\"\"\"\"\n# {0}\nf = \"\\\"{0}\"\ng.h = 1.5\n{1}",
        "[.{".repeat(100),
        (0..200)
            .map(|i| format!("k{i}.x.y = 1.5\n[t{i}.u]\nz.w = {{ a.b = 1.5, c.d = 2.5 }}\n"))
            .collect::<String>(),
    );
    assert!(Source::from_text("a.toml", text).is_ok());
}

#[test]
fn bytes_that_are_not_text_and_files_that_are_too_large_are_refused() {
    let error = Source::from_bytes_with("a.toml", b"dt = 1\n# \xc3\xa9 \xff\xfe".to_vec(), Includes::None)
        .unwrap_err();
    let one = &error.diagnostics()[0];
    assert_eq!(one.message, "the file is not UTF-8 text: bad byte at offset 12");
    assert_eq!(one.line_column(), Some((2, 5)));
    let error = Source::from_text("a.toml", " ".repeat(MAX_FILE + 1)).unwrap_err();
    assert_eq!(error.to_string(), "error: `a.toml` is larger than 16 MiB");
}

// ------------------------------------------------------------------------------------- includes

#[test]
fn included_lists_are_appended_and_other_keys_replaced() {
    let files = [
        (
            "scenes/parts/base.toml",
            "dt = 0.5\ngravity = [0, 0, -1]\ntitle = 'base'\ninclude = '../ball.json'\n[[rigid]]\nname = 'base'\nshape = 's'",
        ),
        ("scenes/ball.json", "{\"rigid\": [{\"name\": \"ball\", \"shape\": {\"sphere\": -1}}]}"),
    ];
    let text = "include = [\"parts/base.toml\"]\ndt = 0.1\n[[rigid]]\nname = 'own'\nshape = 's'";
    let source = Source::from_text_with("scenes/a.toml", text, Includes::Embedded(&files)).unwrap();
    assert_eq!(source.files.len(), 3);
    let error = read(&ROOT, &source.root, &source.files).unwrap_err();
    assert_eq!(
        error.to_string(),
        "error: `sphere` must be greater than 0, not -1.0
 --> scenes/ball.json:1:49
  |
1 | {\"rigid\": [{\"name\": \"ball\", \"shape\": {\"sphere\": -1}}]}
  |                                                 ^^"
    );
    let files = [files[0], ("scenes/ball.json", "{\"rigid\": [{\"name\": \"ball\", \"shape\": \"s\"}]}")];
    let source = Source::from_text_with("scenes/a.toml", text, Includes::Embedded(&files)).unwrap();
    let scene = read(&ROOT, &source.root, &source.files).unwrap();
    let names: Vec<&str> = scene.tables("rigid").iter().map(|body| body.text("name")).collect();
    assert_eq!(names, ["own", "base", "ball"]);
    assert_eq!(
        (scene.number("dt"), scene.vec3("gravity"), scene.text("title")),
        (0.1, [0.0, 0.0, -1.0], "base")
    );
}

#[test]
fn include_loops_repetitions_and_quarrels_are_refused() {
    let refusal = |text: &str, files: &[(&str, &str)]| {
        let error = Source::from_text_with("a.toml", text, Includes::Embedded(files)).unwrap_err();
        error.diagnostics()[0].clone()
    };
    let one = refusal(
        "include = 'b.toml'",
        &[("b.toml", "\ninclude = ['x/c.toml']"), ("x/c.toml", "include = '../b.toml'")],
    );
    assert_eq!(one.message, "files include each other in a loop: b.toml -> x/c.toml -> b.toml");
    assert_eq!((one.file_name(), one.line_column()), (Some("x/c.toml"), Some((1, 11))));
    let one = refusal("include = './a.toml'", &[("a.toml", "")]);
    assert_eq!(one.message, "files include each other in a loop: a.toml -> a.toml");
    let one =
        refusal("include = ['b.toml', 'c.toml']", &[("b.toml", ""), ("c.toml", "include = 'x/../b.toml'")]);
    assert_eq!(one.message, "`b.toml` is included twice");
    assert!(one.to_string().ends_with("note: first included here: a.toml:1:12"), "{one}");
    let one = refusal("include = ['b.toml', 'c.toml']", &[("b.toml", "dt = 1"), ("c.toml", "\ndt = 2")]);
    assert_eq!(one.message, "two included files disagree about `dt`");
    assert_eq!((one.file_name(), one.line_column()), (Some("c.toml"), Some((2, 1))));
    let one = refusal("include = 'parts.tml'", &[("parts.toml", "")]);
    assert_eq!(one.message, "there is no file `parts.tml` to include");
    assert_eq!(one.help.as_deref(), Some("did you mean `parts.toml`?"));
    let one = refusal("include = [1]", &[]);
    assert_eq!(one.message, "`include` wants paths, found the integer 1");
    let one = refusal("include = '/etc/hostname'", &[]);
    assert_eq!(one.message, "cannot include `/etc/hostname`: the path must be relative to this file");
    let chain: Vec<(String, String)> =
        (1..40).map(|i| (format!("{i}.toml"), format!("include = '{}.toml'", i + 1))).collect();
    let chain: Vec<(&str, &str)> = chain.iter().map(|(name, text)| (&**name, &**text)).collect();
    let one = refusal("include = '1.toml'", &chain);
    assert_eq!(one.message, "files include each other more than 16 deep");
    let many: Vec<String> = (0..300).map(|i| format!("{i}.toml")).collect();
    let list: Vec<(&str, &str)> = many.iter().map(|name| (&**name, "")).collect();
    let one = refusal(&format!("include = {many:?}"), &list);
    assert_eq!(one.message, "the scene has more than 256 files");
    let error = Source::from_text("a.toml", "include = 'b.toml'").unwrap_err();
    assert_eq!(error.diagnostics()[0].message, "cannot include `b.toml`: this text has no place among files");
}

#[test]
fn files_on_disk_include_each_other_and_name_what_cannot_be_read() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
    std::fs::create_dir(directory.path().join("parts")).unwrap();
    write("a.toml", "include = 'parts/b.json'\ndt = 1");
    write("parts/b.json", "{\"include\": \"../c.toml\", \"seed\": 3}");
    write("c.toml", "title = 'c'");
    let path = directory.path().join("a.toml");
    let source = Source::from_path(&path).unwrap();
    let scene = read(&ROOT, &source.root, &source.files).unwrap();
    assert_eq!((scene.integer("seed"), scene.text("title")), (3, "c"));
    let text = "include = 'parts/b.json'\ndt = 1";
    let source = Source::from_text_with("t.toml", text, Includes::Directory(directory.path())).unwrap();
    let names: Vec<&str> = source.files.iter().map(|file| file.name()).collect();
    assert_eq!(names, ["t.toml", "parts/b.json", "c.toml"]);

    write("c.toml", "include = 'parts/../a.toml'");
    let error = Source::from_path(&path).unwrap_err();
    assert!(error.diagnostics()[0].message.starts_with("files include each other in a loop"), "{error}");
    write("c.toml", "\ninclude = 'parts'");
    let error = Source::from_path(&path).unwrap_err();
    assert!(error.diagnostics()[0].message.ends_with("parts`: it is a folder"), "{error}");
    assert_eq!(error.diagnostics()[0].line_column(), Some((2, 11)));
    std::fs::remove_file(directory.path().join("c.toml")).unwrap();
    let error = Source::from_path(&path).unwrap_err();
    assert!(error.diagnostics()[0].message.starts_with("cannot read `"), "{error}");
    assert!(error.diagnostics()[0].message.contains("c.toml`: "), "{error}");
    let error = Source::from_path(directory.path().join("none.toml")).unwrap_err();
    assert!(error.to_string().contains("none.toml`: "), "{error}");
}

// ------------------------------------------------------------------------ schema and reference

#[test]
fn the_schema_names_every_key() {
    let schema = json_schema(&ROOT);
    let text = serde_json::to_string_pretty(&schema).unwrap();
    let schema: serde_json::Value = serde_json::from_str(&text).unwrap();
    for table in [&ROOT, &sample::RIGID, &sample::SHAPE, &sample::JOINT, &sample::CLOTH] {
        let definition = &schema["$defs"][table.name];
        assert_eq!(definition["additionalProperties"], false);
        for field in table.fields {
            assert!(definition["properties"][field.key]["description"].is_string(), "{}", field.key);
        }
    }
    let at = |pointer: &str| schema.pointer(pointer).cloned().unwrap_or_default();
    assert_eq!(at("/$schema"), "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(at("/required"), serde_json::json!(["dt"]));
    assert_eq!(at("/properties/dt/exclusiveMinimum"), 0);
    assert_eq!(at("/properties/dt/description"), "Step size. Unit: s.");
    assert_eq!(at("/properties/gravity/default"), serde_json::json!([0, 0, -9.81]));
    assert_eq!(at("/properties/gravity/minItems"), 3);
    assert_eq!(at("/properties/seed/maximum"), 1000);
    assert_eq!(at("/properties/rigid/items/$ref"), "#/$defs/rigid");
    assert_eq!(at("/$defs/shape/allOf/0/oneOf/1/required/0"), "sphere");
    assert_eq!(at("/$defs/joint/allOf/0/then/required/0"), "axis");
    assert_eq!(at("/properties/method/oneOf/2/const"), "ipc");
}

#[test]
fn the_reference_names_every_key() {
    let page = markdown(&ROOT);
    for line in [
        "## `scene`",
        "| `dt` | number > 0 | s | **required** | Step size. |",
        "| `gravity` | list of 3 numbers | m/s² | `[0, 0, -9.81]` | Gravity. |",
        "| `seed` | integer, from 0 to 1000 |  | `1` | Of chance. |",
        "| `box` | list of 3 numbers, each > 0 | m | – | Full sizes. |",
        "| `tint` | number or list of numbers |  | – | A grey \\| or a colour. |",
        "| `axis` | list of 3 numbers |  | **required** | Its axis. Only with `kind` = `hinge` or `slider`. |",
        "| `rigid` | list of tables [`rigid`](#rigid) |  | – | Rigid bodies. |",
        "Exactly one of `box` and `sphere`.",
    ] {
        assert!(page.lines().any(|found| found == line), "{line}\n{page}");
    }
}

//! Subjects and URLs that are refused, with the reason and the place; and that a URL which looks
//! plain is judged as every other.

use subtrie::microbus::{
    RequestTargets, decode, decode_subscription, request_from_url, request_target,
};

fn refusal(subject: &str) -> Option<(&'static str, Option<usize>)> {
    let error = decode(subject).err()?;
    Some((error.reason(), error.position))
}

#[test]
fn an_escape_in_a_host_is_refused_if_the_encoder_does_not_write_it() {
    for escape in ["%2e", "%5f", "%2d", "%61", "%39", "%41"] {
        let subject = format!("p.safe.443.web_shop.a{escape}b._.GET.x");
        assert_eq!(
            refusal(&subject),
            Some(("not-canonical", Some(21))),
            "{escape}"
        );
    }
    decode("p.safe.443.web_shop.a%2fb._.GET.x").unwrap();
}

#[test]
fn a_source_that_cannot_be_an_identity_is_refused() {
    for (source, reason, at) in [
        ("all", "reserved", 11),
        ("shop_all", "reserved", 11),
        ("id-7_shop", "reserved", 11),
        ("a%2fb", "identity", 12),
        ("a__b", "empty-label", 13),
    ] {
        let subject = format!("p.safe.443.{source}.shop._.GET.x");
        assert_eq!(refusal(&subject), Some((reason, Some(at))), "{source}");
    }
}

#[test]
fn a_segment_of_a_pattern_is_refused_at_its_place() {
    let before = "p.safe.443.*.shop._.GET.";
    for path in ["ab.cde.F!", "ab.cde.%7bx%7d", "ab.cde.%2a"] {
        let error = decode_subscription(&format!("{before}{path}")).unwrap_err();
        let at = error.position.unwrap();
        let bad = if path.ends_with('!') { 8 } else { 7 };
        assert_eq!((error.reason(), at), ("not-canonical", before.len() + bad));
    }
}

#[test]
fn a_scheme_may_have_digits_and_marks() {
    for scheme in ["h2c", "git+ssh", "a-b", "x.y"] {
        let url = format!("{scheme}://shop:80/x");
        let subject = request_from_url("p", "web", "GET", &url).unwrap();
        assert_eq!(subject, "p.safe.80.web.shop._.GET.x");
    }
}

#[test]
fn a_url_that_looks_plain_is_judged_as_every_other() {
    let targets = RequestTargets::new("p", "web.shop").unwrap();
    for rest in [
        "a.bC/x",
        "a.b:80c/x",
        "a.b:80C/x",
        "a.b1x",
        "a.b:/x",
        "a.b:0/x",
        "a.b:080/x",
        "a.b//x",
        "a.b/x/",
        "a.b/x?y",
        "a.b/x?",
        "a.b/x#y",
        "a.b",
        "a.b/",
        "A.b/x",
        "a.b:443/x-1/Y",
    ] {
        for scheme in ["http", "https"] {
            let url = format!("{scheme}://{rest}");
            let told = |target: Result<_, subtrie::error::Error>| {
                target.map_or_else(
                    |error| format!("{} {:?}", error.reason(), error.position),
                    |target: subtrie::microbus::RequestTarget| format!("{target:?}"),
                )
            };
            assert_eq!(
                told(targets.of("GET", &url)),
                told(request_target("p", "web.shop", "GET", &url)),
                "{url}"
            );
        }
    }
}

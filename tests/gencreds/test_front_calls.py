"""The rules of an ingress, and of static files."""

from __future__ import annotations

import pytest
from source_trees import said

from subtrie.gencreds import rules, scan


def test_an_ingress_calls_any_service_on_its_ports(only):
    service = only("""
        from subtrie.connector import ingress
        app = ingress(orders, origins=["https://a.example"])
    """)
    assert not service.dynamic
    found = rules(service, "p")
    assert "p.safe.443.orders_shop.*.*.*.>" in found.publish_allow
    assert not found.can_publish("p.safe.444.orders_shop.stock_shop._.GET.x")


@pytest.mark.parametrize(
    ("ports", "allowed"),
    [("[443, 444]", [True, True, False]), ("(8080,)", [False, False, True]),
     ("PORTS", [True, True, True]), ("[443, '444']", [True, True, True])],
)  # fmt: skip
def test_the_ports_are_those_of_the_source(tree, ports, allowed):
    text = (
        "import os\nfrom subtrie import connector\nweb = connector.Connector('web.shop')\n"
        f"PORTS = os.environ['X']\napp = connector.ingress(connector=web, ports={ports})\n"
    )
    (service,) = scan(tree(main=text))
    found = rules(service, "p")
    asked = [f"p.safe.{port}.web_shop.a_shop._.POST.x.y" for port in (443, 444, 8080)]
    assert [bool(found.can_publish(each)) for each in asked] == allowed
    assert not found.can_publish("p.danger.666.web_shop.a_shop._.GET.x")
    assert ("the ports are not known" in str(service.notes)) == all(allowed)


def test_the_ports_may_be_among_keywords_that_are_not_known(only):
    service = only("""
        from subtrie.connector import ingress
        def start(**options): return ingress(orders, **options)
    """)
    assert "the ports are not known" in str(service.notes)
    assert "p.safe.*.orders_shop.*.*.*.>" in rules(service, "p").publish_allow


def test_static_files_of_another_host_are_endpoints(only):
    service = only("""
        orders.static("//root/{name...}", "public")
        orders.static(route="/assets/{name...}", folder="public")
    """)
    assert said(service.endpoints) == [
        "GET root:443/{name...}", "HEAD root:443/{name...}",
        "GET orders.shop:443/assets/{name...}", "HEAD orders.shop:443/assets/{name...}",
    ]  # fmt: skip
    found = rules(service, "p")
    assert found.can_subscribe("p.safe.443.*.root.*.GET.>")


def test_a_route_of_static_files_that_is_not_known_is_reported(only):
    service = only("""
        import os
        orders.static("//" + os.environ["HOST"] + "/{name...}", "public")
    """)
    (unknown,) = service.dynamic
    assert unknown.message.startswith("static: the route depends on ")

from ipaddress import ip_address

import pytest

from shared.external.guard import (
    EndpointRefused,
    find_address,
    is_public,
    parse_endpoint,
    resolve,
    split_hosts,
)

NOWHERE: frozenset[str] = frozenset()
PUBLIC = "93.184.215.14"

FORBIDDEN = [
    "127.0.0.1",
    "127.255.255.254",
    "0.0.0.0",  # noqa: S104
    "10.0.0.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "100.64.0.1",
    "100.100.100.200",
    "169.254.169.254",
    "168.63.129.16",
    "192.0.0.192",
    "192.0.2.1",
    "198.18.0.1",
    "198.51.100.7",
    "203.0.113.9",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::7f00:1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::7f00:1",
    "2002:7f00:1::",
    "2002:a9fe:a9fe::1",
    "2001:0:5db8:d70e:0:0:f5ff:fffe",  # Teredo of a client at 10.0.0.1
    "fd00:ec2::254",
    "fc00::1",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "2001:db8::1",
    "100::1",
]


@pytest.mark.parametrize("address", FORBIDDEN)
def test_an_address_that_is_not_public_is_refused_however_it_is_written(address: str) -> None:
    assert not is_public(ip_address(address))
    target = parse_endpoint("https://kb.example/v1", NOWHERE)
    with pytest.raises(EndpointRefused) as refused:
        find_address(target, lambda _host, _port: [address])
    assert address not in str(refused.value)


@pytest.mark.parametrize(
    "address", [PUBLIC, "2606:4700::1111", f"::ffff:{PUBLIC}", "64:ff9b::808:808"]
)
def test_a_public_address_is_taken(address: str) -> None:
    target = parse_endpoint("https://kb.example/v1", NOWHERE)
    assert find_address(target, lambda _host, _port: [address]) == address


@pytest.mark.parametrize("addresses", [[PUBLIC, "10.0.0.1"], ["::1", PUBLIC]])
def test_one_private_address_among_public_ones_refuses_all(addresses: list[str]) -> None:
    target = parse_endpoint("https://kb.example", NOWHERE)
    with pytest.raises(EndpointRefused):
        find_address(target, lambda _host, _port: addresses)


def test_a_host_without_an_address_is_no_host() -> None:
    with pytest.raises(OSError, match="no address"):
        find_address(parse_endpoint("https://kb.example", NOWHERE), lambda _host, _port: [])


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://kb.example/v1",
        "ftp://kb.example",
        "file:///etc/passwd",
        "gopher://kb.example",
        "kb.example/v1",
        "//kb.example/v1",
        "https://",
        "https:///v1",
        "https://user@kb.example",
        "https://user:secret@kb.example",
        "https://@kb.example",
        "https://kb.example/?x=1",
        "https://kb.example/v1?",
        "https://kb.example/#there",
        "https://kb.example\\@10.0.0.1/",
        "https://kb.example:99999",
        "https://kb.example:x",
        "https://[::1",
        "https://kb.example/a b",
        "https://kb.example/\r\nX: y",
        "https://kb.exämple/",
        "https://kb.example/" + "a" * 2_000,
        "",
    ],
)
def test_what_is_no_https_url_of_host_and_path_is_refused(endpoint: str) -> None:
    with pytest.raises(EndpointRefused):
        parse_endpoint(endpoint, NOWHERE)


@pytest.mark.parametrize(
    "endpoint",
    ["https://127.0.0.1/", "https://[::1]:8443/v1", "https://169.254.169.254/latest/meta-data"],
)
def test_an_address_in_the_endpoint_is_refused_before_anything_is_asked(endpoint: str) -> None:
    with pytest.raises(EndpointRefused, match="not public"):
        parse_endpoint(endpoint, NOWHERE)


@pytest.mark.parametrize("host", ["2130706433", "0x7f.1", "127.1", "0177.0.0.1"])
def test_odd_spellings_of_loopback_are_refused_once_they_are_looked_up(host: str) -> None:
    target = parse_endpoint(f"https://{host}/", NOWHERE)
    with pytest.raises(EndpointRefused):
        find_address(target, resolve)


def test_where_an_endpoint_is() -> None:
    target = parse_endpoint("https://KB.example/v1/", NOWHERE)
    assert (target.host, target.port, target.path) == ("kb.example", 443, "/v1")
    assert parse_endpoint("https://kb.example:8443", NOWHERE).port == 8443
    assert not target.is_exempt


def test_the_setting_exempts_a_host_at_one_port_alone() -> None:
    hosts = split_hosts(" kb.internal:8080, ::1:9000 ,KB.intern:443,")
    assert hosts == {"kb.internal:8080", "::1:9000", "kb.intern:443"}
    for exempt in (
        "http://kb.internal:8080/v1",
        "https://kb.internal:8080",
        "http://[::1]:9000",
        "https://kb.intern",
    ):
        target = parse_endpoint(exempt, hosts)
        assert target.is_exempt
        assert find_address(target, lambda _host, _port: ["10.0.0.1"]) == "10.0.0.1"
    for other in ("http://kb.internal:8081", "http://kb.internal", "http://x.kb.internal:8080"):
        with pytest.raises(EndpointRefused):
            parse_endpoint(other, hosts)
    with pytest.raises(EndpointRefused):
        find_address(
            parse_endpoint("https://kb.internal", hosts), lambda _host, _port: ["10.0.0.1"]
        )


def test_nothing_is_exempt_by_default() -> None:
    assert split_hosts("") == frozenset()

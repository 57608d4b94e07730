import sys
from pathlib import Path

import pytest

from discreet.errors import UsageError
from discreet.plugins import STORES, find_failures, find_names, load_plugin, load_usable


def install(folder: Path, package: str, group: str = STORES, **declared: str) -> None:
    """Lay out an installed package that declares plug-ins by name."""
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = "\n".join(f"{name.replace('_', '-')} = {value}" for name, value in declared.items())
    (info / "entry_points.txt").write_text(f"[{group}]\n{lines}\n")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "sound_store_module.py").write_text("class Mine: ...\nclass Other: ...\n")
    (tmp_path / "broken_store_module.py").write_text("raise RuntimeError('no driver')\n")
    (tmp_path / "leaving_store_module.py").write_text("raise SystemExit(3)\n")
    return tmp_path


def test_plugins_usable_beside_broken(site: Path) -> None:
    install(site, "sound", mine="sound_store_module:Mine", other_one="sound_store_module:Other")
    install(site, "broken", dead="broken_store_module:Store", gone="no_such_module_here:Store")
    install(site, "leaving", leaving="leaving_store_module:Store", typo="sound_store_module:Absent")
    assert sorted(load_usable(STORES)) == ["mine", "other-one"]
    assert load_usable(STORES)["mine"] is sys.modules["sound_store_module"].Mine
    failures = find_failures(STORES)
    assert [(one.name, one.package) for one in failures] == [
        ("dead", "broken"),
        ("gone", "broken"),
        ("leaving", "leaving"),
        ("typo", "leaving"),
    ]
    assert "RuntimeError: no driver" in str(failures[0])
    assert find_names(STORES) == ["dead", "gone", "leaving", "mine", "other-one", "typo"]


def test_plugin_loads_alone(site: Path) -> None:
    install(site, "both", mine="sound_store_module:Mine", dead="broken_store_module:Store")
    assert load_plugin(STORES, "mine") is sys.modules["sound_store_module"].Mine
    assert load_plugin(STORES, "absent") is None
    with pytest.raises(UsageError, match=r"'dead' of the package both .*no driver.*uninstall"):
        load_plugin(STORES, "dead")


def test_plugin_refused_by_check(site: Path) -> None:
    install(site, "sound", mine="sound_store_module:Mine")
    with pytest.raises(UsageError, match="no method 'tag'"):
        load_plugin(STORES, "mine", lambda _: "It has no method 'tag'.")


def test_plugin_name_declared_twice(site: Path) -> None:
    install(site, "one", mine="sound_store_module:Mine")
    install(site, "two", mine="sound_store_module:Other")
    assert load_usable(STORES) == {}
    assert ["one, two" in str(failure) for failure in find_failures(STORES)] == [True, True]
    with pytest.raises(UsageError, match="one, two"):
        load_plugin(STORES, "mine")


def test_plugin_of_this_package_cannot_be_replaced(site: Path) -> None:
    install(site, "discreet", mine="sound_store_module:Mine", same="sound_store_module:Mine")
    install(site, "another", mine="sound_store_module:Other", same="sound_store_module:Mine")
    assert load_plugin(STORES, "mine") is sys.modules["sound_store_module"].Mine
    assert load_usable(STORES) == dict.fromkeys(("mine", "same"), sys.modules["sound_store_module"].Mine)
    assert [(one.name, one.package) for one in find_failures(STORES)] == [("mine", "another"), ("same", "another")]
    assert "a built-in part has this name" in str(find_failures(STORES)[0])


def test_plugin_cannot_replace_builtin(site: Path) -> None:
    install(site, "sound", mine="sound_store_module:Mine", other="sound_store_module:Other")
    assert list(load_usable(STORES, reserved=["mine"])) == ["other"]
    assert [failure.name for failure in find_failures(STORES, reserved=["mine"])] == ["mine"]

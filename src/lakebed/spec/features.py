"""What a table asks of its readers and writers (PROTOCOL: Protocol Evolution, Table Features).

Every check asks the records of `spec.feature_table`. A feature is supported when the protocol lists
it, or when the protocol has no lists and its versions imply it; it is active when the metadata
uses it besides.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches

from lakebed.errors import (
    InvalidArgumentError,
    LogCorruptedError,
    TablePropertyError,
    UnsupportedFeatureError,
)
from lakebed.spec.actions import Metadata, Protocol
from lakebed.spec.feature_table import (
    FEATURES,
    TABLE_FEATURES_READER,
    TABLE_FEATURES_WRITER,
    Feature,
    Support,
    TableShape,
)
from lakebed.spec.properties import FEATURE_PREFIX, TableProperties, normalized_key
from lakebed.spec.schema import StructType, parse_schema

__all__ = [
    "FEATURES",
    "Feature",
    "Support",
    "active_features",
    "check_readable",
    "check_writable",
    "dependent_features",
    "feature_name",
    "is_active",
    "is_supported",
    "missing_features",
    "normalize",
    "protocol_for",
    "supported_features",
    "upgraded",
    "upgraded_for",
    "upgraded_for_properties",
    "without_feature",
    "without_protocol_properties",
]


# --- questions ----------------------------------------------------------------------------------


def supported_features(protocol: Protocol) -> frozenset[str]:
    """The features that the protocol lists or, without lists, implies by its versions."""
    listed = frozenset((*(protocol.reader_features or ()), *(protocol.writer_features or ())))
    if protocol.min_writer_version >= TABLE_FEATURES_WRITER:
        return listed
    implied = (name for name, feature in FEATURES.items() if _is_implied(feature, protocol))
    return listed.union(implied)


def is_supported(protocol: Protocol, name: str) -> bool:
    return name in supported_features(protocol)


def is_active(protocol: Protocol, metadata: Metadata, name: str) -> bool:
    """Whether the table supports the feature and its metadata uses it."""
    feature = FEATURES.get(name)
    return feature is not None and is_supported(protocol, name) and feature.active(_shape(metadata))


def active_features(protocol: Protocol, metadata: Metadata) -> frozenset[str]:
    shape = _shape(metadata)
    known = (FEATURES[name] for name in supported_features(protocol) if name in FEATURES)
    return frozenset(feature.name for feature in known if feature.active(shape))


# --- checks -------------------------------------------------------------------------------------


def check_readable(protocol: Protocol, metadata: Metadata | None = None) -> None:
    """Refuses a table that Lakebed cannot read right.

    Without `metadata`, features that are harmless while unused count as used.
    """
    if not 1 <= protocol.min_reader_version <= TABLE_FEATURES_READER:
        raise _wrong_version("read", "reader", protocol.min_reader_version, TABLE_FEATURES_READER)
    _check_lists(protocol)
    refused = _refused(supported_features(protocol), metadata, lambda feature: feature.reads)
    # Readers may pass over what they do not know among the features for writers.
    listed = protocol.reader_features or ()
    _raise_if_any("read", [name for name in refused if name in FEATURES or name in listed])


def check_writable(
    protocol: Protocol, metadata: Metadata, *, handles: Collection[str] = ()
) -> None:
    """Refuses a table that Lakebed cannot write, or not by an operation that `handles` these.

    Some features ask nothing of a writer until the table uses them, and then much: generated
    columns, identity columns, variants ... An operation that takes care of them names them.
    """
    check_readable(protocol, metadata)
    if not 1 <= protocol.min_writer_version <= TABLE_FEATURES_WRITER:
        raise _wrong_version("write", "writer", protocol.min_writer_version, TABLE_FEATURES_WRITER)
    refused = _refused(supported_features(protocol), metadata, lambda feature: feature.writes)
    _raise_if_any("write", [name for name in refused if not _is_handled(name, handles)])


# --- making protocols ---------------------------------------------------------------------------


def protocol_for(
    schema: StructType, partition_columns: Sequence[str], configuration: Mapping[str, str]
) -> Protocol:
    """The lowest protocol that a new table needs, by delta-spark's rules.

    `delta.feature.<name>` adds a feature, `delta.minReaderVersion` and `delta.minWriterVersion`
    those that the versions imply; `without_protocol_properties` gives what is left to store.
    """
    spelled = {normalized_key(key): value for key, value in configuration.items()}
    named = _named_features(spelled)
    enabled = _enabled_by(TableShape(spelled, lambda: schema), named)
    names = _closure({*named, *enabled, *_implied_by_properties(spelled)})
    if "clustering" in names and partition_columns:
        raise InvalidArgumentError(
            f"A clustered table cannot be partitioned too, by {', '.join(partition_columns)}",
            hint="Cluster the table or partition it, not both.",
            condition="DELTA_CLUSTER_BY_WITH_PARTITIONED_BY",
        )
    return _weakest(names)


def without_protocol_properties(configuration: Mapping[str, str]) -> dict[str, str]:
    """The configuration as it may be stored: the protocol's properties are not part of it."""
    return {
        key: value
        for key, value in configuration.items()
        if normalized_key(key) not in _PROTOCOL_KEYS and not key.lower().startswith(FEATURE_PREFIX)
    }


def missing_features(protocol: Protocol, metadata: Metadata) -> frozenset[str]:
    """The features that the metadata uses and the protocol lacks, with what they require."""
    supported = supported_features(protocol)
    return _closure(_enabled_by(_shape(metadata), supported)) - supported


def upgraded(protocol: Protocol, features: Iterable[str]) -> Protocol:
    """The protocol with more features and what they require; the same if it has them all."""
    names = supported_features(protocol)
    wanted = names | _closure(map(_known, features))
    return protocol if wanted == names else _weakest(wanted, like=protocol)


def upgraded_for(protocol: Protocol, metadata: Metadata) -> Protocol:
    """The protocol that an existing table needs for new metadata.

    As in delta-spark, new types of columns do not upgrade a table unless the user asks for it.
    """
    missing = missing_features(protocol, metadata)
    asked = sorted(
        name
        for name in missing
        if FEATURES[name].enabled_by_metadata and not FEATURES[name].upgrades_tables
    )
    if asked:
        raise UnsupportedFeatureError(
            f"The change needs {_listing(asked)}, which the table does not support yet",
            features=asked,
            hint="Add the feature first: "
            + ", ".join(f"set {FEATURE_PREFIX}{name} = 'supported'" for name in asked)
            + ". Older readers and writers can then no longer use the table.",
        )
    return upgraded(protocol, missing)


def upgraded_for_properties(protocol: Protocol, changes: Mapping[str, str]) -> Protocol:
    """The protocol after properties were set on an existing table: with the features that
    `delta.feature.` names and those that `delta.minReaderVersion` and the like imply.

    As in delta-spark the versions only add: lower ones than the table has change nothing.
    """
    named = _named_features(changes)
    if "delta.minReaderVersion" in changes or "delta.minWriterVersion" in changes:
        properties = TableProperties(changes)
        reader, writer = protocol.min_reader_version, protocol.min_writer_version
        if "delta.minReaderVersion" in changes:
            reader = properties.min_reader_version
        if "delta.minWriterVersion" in changes:
            writer = properties.min_writer_version
        named |= _implied_by_versions(reader, writer)
    return upgraded(protocol, named)


def is_about_protocol(name: str) -> bool:
    """Whether a property states the protocol instead of being stored with the table."""
    return name in _PROTOCOL_KEYS or name.startswith(FEATURE_PREFIX)


def without_feature(protocol: Protocol, name: str) -> Protocol:
    """The weakest protocol with all other features."""
    return _weakest(supported_features(protocol) - {name}, like=protocol)


def feature_name(name: str) -> str:
    """The name of a feature as it is spelled, or an error if there is no such feature."""
    return _known(name)


def dependent_features(protocol: Protocol, name: str) -> list[str]:
    """The features of the protocol that cannot be without another one."""
    supported = supported_features(protocol)
    known = (FEATURES[each] for each in supported if each in FEATURES)
    return sorted(feature.name for feature in known if name in feature.requires)


def normalize(protocol: Protocol) -> Protocol:
    """The weakest protocol with the same features: (1, 7, [appendOnly, invariants]) is (1, 2)."""
    return _weakest(supported_features(protocol), like=protocol)


_PROTOCOL_KEYS = frozenset(
    ["delta.minReaderVersion", "delta.minWriterVersion", "delta.ignoreProtocolDefaults"]
)
_BY_LOWER_NAME = {name.lower(): name for name in FEATURES}


def _shape(metadata: Metadata) -> TableShape:
    return TableShape(metadata.configuration, lambda: parse_schema(metadata.schema_string))


def _is_implied(feature: Feature, protocol: Protocol) -> bool:
    return (
        feature.legacy is not None
        and feature.legacy[0] <= protocol.min_reader_version < TABLE_FEATURES_READER
        and feature.legacy[1] <= protocol.min_writer_version < TABLE_FEATURES_WRITER
    )


def _closure(names: Iterable[str]) -> frozenset[str]:
    found: set[str] = set()
    pending = list(names)
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending.extend(FEATURES[name].requires if name in FEATURES else ())
    return frozenset(found)


def _enabled_by(shape: TableShape, supported: Collection[str]) -> frozenset[str]:
    return frozenset(
        feature.name
        for feature in FEATURES.values()
        if feature.enabled_by_metadata
        and feature.preview not in supported
        and feature.active(shape)
    )


def _named_features(configuration: Mapping[str, str]) -> frozenset[str]:
    names = set()
    for key, value in configuration.items():
        if key.lower().startswith(FEATURE_PREFIX):
            if value.lower() not in ("supported", "enabled"):
                raise TablePropertyError(
                    f"The table property {key} is {value!r}, but it must be 'supported'",
                    hint="A feature is turned on by naming it; to drop it, leave it out.",
                )
            names.add(_known(key[len(FEATURE_PREFIX) :]))
    return frozenset(names)


def _implied_by_properties(configuration: Mapping[str, str]) -> frozenset[str]:
    properties = TableProperties(configuration)
    if properties.ignore_protocol_defaults:
        properties = TableProperties({"delta.minWriterVersion": "1", **configuration})
    return _implied_by_versions(properties.min_reader_version, properties.min_writer_version)


def _implied_by_versions(reader: int, writer: int) -> frozenset[str]:
    if writer < TABLE_FEATURES_WRITER:
        reader = min(reader, TABLE_FEATURES_READER - 1)
    return supported_features(Protocol(reader, writer))


def _weakest(names: frozenset[str], like: Protocol | None = None) -> Protocol:
    """The lowest versions for the features; lists only where the versions alone imply others.

    `like` gives what is carried over: unknown fields, and on which side unknown features stand.
    """
    strangers = names - FEATURES.keys()
    stranger_readers = strangers.intersection((like and like.reader_features) or ())
    known = [FEATURES[name] for name in names - strangers]
    reader = max([1, *(feature.min_reader_version for feature in known)])
    writer = max([1, *(feature.min_writer_version for feature in known)])
    legacy = Protocol(reader, writer)
    if writer < TABLE_FEATURES_WRITER and supported_features(legacy) == names:
        return replace(legacy, extra=like.extra) if like else legacy
    if stranger_readers:
        reader = TABLE_FEATURES_READER
    readers = {feature.name for feature in known if feature.reader} | stranger_readers
    return Protocol(
        min_reader_version=reader,
        min_writer_version=TABLE_FEATURES_WRITER,
        reader_features=tuple(sorted(readers)) if reader >= TABLE_FEATURES_READER else None,
        writer_features=tuple(sorted(names)),
        extra=like.extra if like else {},
    )


# --- refusals -----------------------------------------------------------------------------------


def _check_lists(protocol: Protocol) -> None:
    """PROTOCOL: Table Features. Versions 3 and 7 have lists of features, lower ones have none."""
    reader, writer = protocol.min_reader_version, protocol.min_writer_version
    if reader >= TABLE_FEATURES_READER and writer < TABLE_FEATURES_WRITER:
        raise LogCorruptedError(
            f"the protocol has reader version {reader} but writer version {writer}: "
            f"reader version 3 goes only with writer version 7"
        )
    _check_list("readerFeatures", protocol.reader_features, reader, TABLE_FEATURES_READER)
    _check_list("writerFeatures", protocol.writer_features, writer, TABLE_FEATURES_WRITER)


def _check_list(field: str, names: Sequence[str] | None, version: int, since: int) -> None:
    if names is None and version == since:
        raise LogCorruptedError(f"the protocol has version {version} but no {field}")
    if names and version < since:
        raise LogCorruptedError(f"the protocol has {field} but only version {version}")


def _refused(
    names: Collection[str], metadata: Metadata | None, support: Callable[[Feature], Support]
) -> list[str]:
    shape = None if metadata is None else _shape(metadata)

    def is_refused(name: str) -> bool:
        feature = FEATURES.get(name)
        if feature is None or support(feature) is not Support.UNUSED:
            return feature is None or support(feature) is Support.NO
        return shape is None or feature.active(shape)

    return sorted(filter(is_refused, names))


def _is_handled(name: str, handles: Collection[str]) -> bool:
    feature = FEATURES.get(name)
    return name in handles and feature is not None and feature.writes is not Support.NO


def _raise_if_any(verb: str, names: list[str]) -> None:
    if not names:
        return
    unknown = [name for name in names if name not in FEATURES]
    message = f"Lakebed cannot {verb} this table: it needs {_listing(names)}"
    if unknown:
        message += f", of which this version of Lakebed does not know {', '.join(unknown)}"
    raise UnsupportedFeatureError(
        message,
        features=names,
        hint="Use an engine that has the feature, drop the feature from the table with it, or "
        "upgrade Lakebed.",
    )


def _listing(names: Sequence[str]) -> str:
    return f"the table feature{'s' if len(names) > 1 else ''} {', '.join(names)}"


def _wrong_version(verb: str, side: str, version: int, highest: int) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"Lakebed cannot {verb} this table: it has {side} version {version} of the protocol, "
        f"and there are versions 1 to {highest}",
        hint="Upgrade Lakebed if a newer version of the protocol is out; else the log is corrupt.",
    )


def _known(name: str) -> str:
    known = _BY_LOWER_NAME.get(name.lower())
    if known is None:
        near = get_close_matches(name.lower(), _BY_LOWER_NAME, n=1)
        raise UnsupportedFeatureError(
            f"There is no table feature {name} that Lakebed knows",
            features=[name],
            condition="DELTA_UNSUPPORTED_FEATURES_IN_CONFIG",
            parameters={"configs": name},
            hint=f"Did you mean {_BY_LOWER_NAME[near[0]]}?" if near else "Check its spelling.",
        )
    return known

"""Table features: which tables are refused, and which protocol a table gets."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.errors import (
    InvalidArgumentError,
    LogCorruptedError,
    TablePropertyError,
    UnsupportedFeatureError,
)
from lakebed.spec.actions import Metadata, Protocol
from lakebed.spec.feature_table import FEATURES, Support
from lakebed.spec.features import (
    active_features,
    check_readable,
    check_writable,
    is_active,
    is_supported,
    missing_features,
    normalize,
    protocol_for,
    supported_features,
    upgraded,
    upgraded_for,
    without_protocol_properties,
)
from lakebed.spec.schema import (
    LONG,
    STRING,
    TIMESTAMP_NTZ,
    VARIANT,
    ArrayType,
    StructField,
    StructType,
    schema_to_json,
)

PLAIN = StructType((StructField("id", LONG), StructField("p", STRING)))
GENERATED = StructType((StructField("g", LONG, metadata={"delta.generationExpression": "id + 1"}),))
IDENTITY = StructType((StructField("i", LONG, metadata={"delta.identity.start": 1}),))
DEFAULTS = StructType((StructField("d", LONG, metadata={"CURRENT_DEFAULT": "1"}),))
INVARIANT = StructType(
    (StructField("x", LONG, metadata={"delta.invariants": '{"expression":{"expression":"x>0"}}'}),)
)
NESTED_NTZ = StructType((StructField("a", ArrayType(TIMESTAMP_NTZ)),))
WITH_VARIANT = StructType((StructField("v", VARIANT),))
DEFAULT_FEATURES = {"appendOnly", "invariants"}


def metadata(schema: StructType = PLAIN, **configuration: str) -> Metadata:
    properties = {key.replace("__", "."): value for key, value in configuration.items()}
    return Metadata("id", schema_to_json(schema), configuration=properties)


def listing(*names: str) -> Protocol:
    """A protocol with lists, of the features and nothing else."""
    readers = tuple(name for name in names if name not in FEATURES or FEATURES[name].reader)
    return Protocol(3, 7, readers, names)


def writer_only(*names: str) -> Protocol:
    return Protocol(1, 7, None, names)


# --- the records --------------------------------------------------------------------------------


def test_the_records_name_every_feature_of_the_protocol() -> None:
    assert set(FEATURES) >= {
        "appendOnly",
        "invariants",
        "checkConstraints",
        "generatedColumns",
        "allowColumnDefaults",
        "changeDataFeed",
        "columnMapping",
        "identityColumns",
        "deletionVectors",
        "rowTracking",
        "timestampNtz",
        "domainMetadata",
        "v2Checkpoint",
        "catalogManaged",
        "icebergCompatV1",
        "icebergCompatV2",
        "clustering",
        "vacuumProtocolCheck",
        "inCommitTimestamp",
    }


@pytest.mark.parametrize("name", FEATURES)
def test_every_record_is_consistent(name: str) -> None:
    feature = FEATURES[name]
    assert feature.name == name
    assert set(feature.requires) <= set(FEATURES)
    assert feature.preview is None or feature.preview in FEATURES
    assert feature.legacy is None or feature.upgrades_tables
    assert not feature.upgrades_tables or feature.enabled_by_metadata
    # Who cannot read a table cannot write it either.
    assert feature.reads is Support.YES or feature.writes is not Support.YES


# --- supported and active -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("protocol", "names"),
    [
        (Protocol(1, 1), set()),
        (Protocol(1, 2), DEFAULT_FEATURES),
        (Protocol(1, 3), DEFAULT_FEATURES | {"checkConstraints"}),
        (
            Protocol(1, 4),
            DEFAULT_FEATURES | {"checkConstraints", "changeDataFeed", "generatedColumns"},
        ),
        # Column mapping needs both versions.
        (
            Protocol(1, 5),
            DEFAULT_FEATURES | {"checkConstraints", "changeDataFeed", "generatedColumns"},
        ),
        (
            Protocol(2, 6),
            DEFAULT_FEATURES
            | {
                "checkConstraints",
                "changeDataFeed",
                "generatedColumns",
                "columnMapping",
                "identityColumns",
            },
        ),
        (Protocol(1, 7, None, ()), set()),
        (Protocol(2, 7, None, ("columnMapping",)), {"columnMapping"}),
        (Protocol(3, 7, ("deletionVectors",), ("deletionVectors", "x")), {"deletionVectors", "x"}),
    ],
)
def test_versions_imply_features_only_where_there_are_no_lists(
    protocol: Protocol, names: set[str]
) -> None:
    assert supported_features(protocol) == names
    assert all(is_supported(protocol, name) == (name in names) for name in FEATURES)


def test_a_feature_is_active_when_supported_and_used() -> None:
    append_only = metadata(delta__appendOnly="true")
    assert is_active(Protocol(1, 2), append_only, "appendOnly")
    assert not is_active(Protocol(1, 2), metadata(), "appendOnly")
    assert not is_active(writer_only("invariants"), append_only, "appendOnly")
    assert is_active(writer_only("domainMetadata"), metadata(), "domainMetadata")
    assert not is_active(listing("fromTheFuture"), metadata(), "fromTheFuture")


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("appendOnly", metadata(delta__appendOnly="true")),
        ("invariants", metadata(INVARIANT)),
        ("checkConstraints", metadata(delta__constraints__c="id > 0")),
        ("changeDataFeed", metadata(delta__enableChangeDataFeed="true")),
        ("generatedColumns", metadata(GENERATED)),
        ("columnMapping", metadata(delta__columnMapping__mode="name")),
        ("identityColumns", metadata(IDENTITY)),
        ("allowColumnDefaults", metadata(DEFAULTS)),
        ("deletionVectors", metadata(delta__enableDeletionVectors="true")),
        ("rowTracking", metadata(delta__enableRowTracking="true")),
        ("timestampNtz", metadata(NESTED_NTZ)),
        ("v2Checkpoint", metadata(delta__checkpointPolicy="v2")),
        ("inCommitTimestamp", metadata(delta__enableInCommitTimestamps="true")),
        ("typeWidening", metadata(delta__enableTypeWidening="true")),
        ("variantType", metadata(WITH_VARIANT)),
        ("icebergCompatV1", metadata(delta__enableIcebergCompatV1="true")),
        ("icebergCompatV2", metadata(delta__enableIcebergCompatV2="true")),
        (
            "materializePartitionColumns",
            metadata(delta__enableMaterializePartitionColumnsFeature="true"),
        ),
    ],
)
def test_metadata_activates_a_feature_and_asks_for_it(name: str, table: Metadata) -> None:
    everything = Protocol(3, 7, (), tuple(FEATURES))
    assert name in active_features(everything, table)
    assert name not in active_features(everything, metadata())
    assert name in missing_features(Protocol(1, 1), table)
    assert name not in missing_features(everything, table)


# --- reading ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "columnMapping",
        "deletionVectors",
        "timestampNtz",
        "typeWidening",
        "typeWidening-preview",
        "v2Checkpoint",
        "vacuumProtocolCheck",
        "variantType",
        "variantType-preview",
    ],
)
def test_tables_with_these_reader_features_are_read(name: str) -> None:
    check_readable(listing(name))


@pytest.mark.parametrize(
    "protocol", [Protocol(1, 1), Protocol(1, 2), Protocol(2, 5), Protocol(2, 6)]
)
def test_tables_without_lists_are_read(protocol: Protocol) -> None:
    check_readable(protocol)


@pytest.mark.parametrize(
    "name",
    [
        "catalogManaged",
        "catalogOwned-preview",
        "coordinatedCommits-preview",
        "variantShredding",
        "variantShredding-preview",
        "geospatial",
        "adaptiveMetadata-preview",
        "fromTheFuture",
    ],
)
def test_tables_that_would_be_read_wrong_are_refused_by_the_feature_s_name(name: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=name) as caught:
        check_readable(listing("deletionVectors", name))
    assert caught.value.features == (name,)
    assert caught.value.hint


def test_an_unknown_feature_for_writers_does_not_keep_readers_out() -> None:
    check_readable(writer_only("fromTheFuture", "collations-preview"))


def test_all_refused_features_are_named_at_once() -> None:
    with pytest.raises(UnsupportedFeatureError) as caught:
        check_readable(listing("zeta", "catalogManaged", "alpha"))
    assert caught.value.features == ("alpha", "catalogManaged", "zeta")
    assert "does not know alpha, zeta" in str(caught.value)


def test_with_metadata_unused_features_do_not_keep_readers_out() -> None:
    check_readable(listing("geospatial", "coordinatedCommits-preview"), metadata())
    coordinated = {"delta.coordinatedCommits.commitCoordinator-preview": "c"}
    table = Metadata("id", schema_to_json(PLAIN), configuration=coordinated)
    with pytest.raises(UnsupportedFeatureError, match="coordinatedCommits-preview"):
        check_readable(writer_only("coordinatedCommits-preview"), table)


@pytest.mark.parametrize("version", [-1, 0, 4, 99])
def test_unknown_reader_versions_are_refused_by_number(version: int) -> None:
    with pytest.raises(UnsupportedFeatureError, match=f"reader version {version}"):
        check_readable(Protocol(version, 7, (), ()))


@pytest.mark.parametrize(
    "protocol",
    [
        Protocol(3, 7, None, ()),
        Protocol(3, 7, (), None),
        Protocol(1, 7, None, None),
        Protocol(3, 6, (), None),
        Protocol(1, 2, ("deletionVectors",), None),
        Protocol(1, 2, None, ("appendOnly",)),
    ],
)
def test_lists_that_do_not_go_with_the_versions_are_corrupt(protocol: Protocol) -> None:
    with pytest.raises(LogCorruptedError):
        check_readable(protocol)


def test_empty_lists_beside_old_versions_are_harmless() -> None:
    check_readable(Protocol(1, 2, (), ()))


# --- writing ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "appendOnly",
        "invariants",
        "checkConstraints",
        "changeDataFeed",
        "columnMapping",
        "deletionVectors",
        "timestampNtz",
        "domainMetadata",
        "v2Checkpoint",
        "vacuumProtocolCheck",
        "inCommitTimestamp",
        "typeWidening",
        "rowTracking",
        "clustering",
        "checkpointProtection",
        "materializePartitionColumns",
    ],
)
def test_tables_with_these_features_are_written(name: str) -> None:
    check_writable(listing(name), metadata())


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("generatedColumns", metadata(GENERATED)),
        ("identityColumns", metadata(IDENTITY)),
        ("allowColumnDefaults", metadata(DEFAULTS)),
        ("variantType", metadata(WITH_VARIANT)),
        ("icebergCompatV3", metadata(delta__enableIcebergCompatV3="true")),
    ],
)
def test_features_in_use_need_an_operation_that_handles_them(name: str, table: Metadata) -> None:
    protocol = listing(name)
    check_writable(protocol, metadata())
    check_writable(protocol, table, handles={name})
    with pytest.raises(UnsupportedFeatureError, match=f"cannot write .* {name}") as caught:
        check_writable(protocol, table, handles={"clustering"})
    assert caught.value.features == (name,)


def test_old_writer_versions_matter_only_as_far_as_the_table_uses_them() -> None:
    check_writable(Protocol(2, 6), metadata())
    with pytest.raises(UnsupportedFeatureError, match="identityColumns"):
        check_writable(Protocol(1, 6), metadata(IDENTITY))
    # Writer version 2 has no generated columns: the metadata of a column is then just a remark.
    check_writable(Protocol(1, 2), metadata(GENERATED))


@pytest.mark.parametrize("name", ["fromTheFuture", "catalogManaged", "variantShredding"])
def test_no_operation_can_claim_what_lakebed_does_not_have(name: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=name):
        check_writable(Protocol(3, 7, (), (name,)), metadata(), handles={name})


@pytest.mark.parametrize("version", [0, 8])
def test_unknown_writer_versions_are_refused_by_number(version: int) -> None:
    with pytest.raises(UnsupportedFeatureError, match=f"writer version {version}"):
        check_writable(Protocol(1, version), metadata())


# --- the protocol of a new table ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "configuration", "protocol"),
    [
        (PLAIN, {}, Protocol(1, 2)),
        (PLAIN, {"delta.appendOnly": "true"}, Protocol(1, 2)),
        (INVARIANT, {}, Protocol(1, 2)),
        (PLAIN, {"delta.constraints.c": "id > 0"}, Protocol(1, 3)),
        (
            PLAIN,
            {"delta.enableChangeDataFeed": "true"},
            writer_only("appendOnly", "changeDataFeed", "invariants"),
        ),
        (GENERATED, {}, writer_only("appendOnly", "generatedColumns", "invariants")),
        (
            PLAIN,
            {"delta.columnMapping.mode": "name"},
            Protocol(2, 7, None, ("appendOnly", "columnMapping", "invariants")),
        ),
        (
            PLAIN,
            {"delta.columnMapping.mode": "name", "delta.minWriterVersion": "5"},
            Protocol(2, 5),
        ),
        (
            PLAIN,
            {"delta.minReaderVersion": "2", "delta.minWriterVersion": "5"},
            Protocol(2, 5),
        ),
        (PLAIN, {"delta.minReaderVersion": "3", "delta.minWriterVersion": "3"}, Protocol(1, 3)),
        (PLAIN, {"delta.minWriterVersion": "1"}, Protocol(1, 1)),
        (PLAIN, {"delta.ignoreProtocolDefaults": "true"}, Protocol(1, 1)),
        (PLAIN, {"delta.minReaderVersion": "3", "delta.minWriterVersion": "7"}, Protocol(1, 1)),
        (
            PLAIN,
            {"delta.enableDeletionVectors": "true"},
            Protocol(3, 7, ("deletionVectors",), ("appendOnly", "deletionVectors", "invariants")),
        ),
        (
            PLAIN,
            {"delta.enableDeletionVectors": "true", "delta.columnMapping.mode": "id"},
            Protocol(
                3,
                7,
                ("columnMapping", "deletionVectors"),
                ("appendOnly", "columnMapping", "deletionVectors", "invariants"),
            ),
        ),
        (
            PLAIN,
            {"delta.enableRowTracking": "true"},
            writer_only("appendOnly", "domainMetadata", "invariants", "rowTracking"),
        ),
        (
            NESTED_NTZ,
            {},
            Protocol(3, 7, ("timestampNtz",), ("appendOnly", "invariants", "timestampNtz")),
        ),
        (
            WITH_VARIANT,
            {"delta.feature.variantType-preview": "supported"},
            Protocol(
                3,
                7,
                ("variantType-preview",),
                ("appendOnly", "invariants", "variantType-preview"),
            ),
        ),
        (
            PLAIN,
            {"delta.feature.CLUSTERING": "supported"},
            writer_only("appendOnly", "clustering", "domainMetadata", "invariants"),
        ),
        (
            PLAIN,
            {"DELTA.checkpointpolicy": "v2"},
            Protocol(3, 7, ("v2Checkpoint",), ("appendOnly", "invariants", "v2Checkpoint")),
        ),
        (DEFAULTS, {}, writer_only("allowColumnDefaults", "appendOnly", "invariants")),
    ],
)
def test_a_new_table_gets_the_lowest_protocol_that_delta_spark_gives_it(
    schema: StructType, configuration: dict[str, str], protocol: Protocol
) -> None:
    assert protocol_for(schema, [], configuration) == protocol


def test_an_unknown_feature_in_the_properties_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UnsupportedFeatureError, match="deletionVector") as caught:
        protocol_for(PLAIN, [], {"delta.feature.deletionVector": "supported"})
    assert "deletionVectors" in (caught.value.hint or "")
    with pytest.raises(UnsupportedFeatureError, match="zzz"):
        protocol_for(PLAIN, [], {"delta.feature.zzz": "supported"})


def test_a_feature_can_only_be_named_as_supported() -> None:
    with pytest.raises(TablePropertyError, match="'off'"):
        protocol_for(PLAIN, [], {"delta.feature.appendOnly": "off"})


def test_a_clustered_table_cannot_be_partitioned() -> None:
    with pytest.raises(InvalidArgumentError, match="partitioned"):
        protocol_for(PLAIN, ["p"], {"delta.feature.clustering": "supported"})


def test_the_protocol_s_properties_are_not_stored() -> None:
    configuration = {
        "delta.minReaderVersion": "3",
        "delta.MINWRITERVERSION": "7",
        "delta.feature.deletionVectors": "supported",
        "delta.ignoreProtocolDefaults": "true",
        "delta.appendOnly": "true",
        "mine": "x",
    }
    assert without_protocol_properties(configuration) == {"delta.appendOnly": "true", "mine": "x"}


# --- upgrades -----------------------------------------------------------------------------------


def test_an_upgrade_keeps_what_the_versions_implied() -> None:
    assert upgraded(Protocol(1, 2), ["deletionVectors"]) == Protocol(
        3, 7, ("deletionVectors",), ("appendOnly", "deletionVectors", "invariants")
    )
    assert upgraded(Protocol(2, 5), ["identityColumns"]) == Protocol(2, 6)
    assert upgraded(Protocol(1, 2), ["rowTracking"]).writer_features == (
        "appendOnly",
        "domainMetadata",
        "invariants",
        "rowTracking",
    )


def test_an_upgrade_to_what_is_there_changes_nothing() -> None:
    protocol = Protocol(3, 7, ("v2Checkpoint",), ("v2Checkpoint",))
    assert upgraded(protocol, ["v2Checkpoint"]) is protocol


def test_an_upgrade_keeps_unknown_features_and_fields() -> None:
    protocol = Protocol(3, 7, ("b", "a"), ("a", "b", "c"), {"later": 1})
    assert upgraded(protocol, ["appendOnly"]) == Protocol(
        3, 7, ("a", "b"), ("a", "appendOnly", "b", "c"), {"later": 1}
    )


def test_new_metadata_upgrades_a_table_unless_the_user_must_ask() -> None:
    assert upgraded_for(Protocol(1, 2), metadata(delta__appendOnly="true")) == Protocol(1, 2)
    assert upgraded_for(Protocol(1, 2), metadata(delta__constraints__c="id > 0")) == Protocol(1, 3)
    with pytest.raises(UnsupportedFeatureError, match="timestampNtz") as caught:
        upgraded_for(Protocol(1, 2), metadata(NESTED_NTZ))
    assert "delta.feature.timestampNtz" in (caught.value.hint or "")
    ready = upgraded(Protocol(1, 2), ["timestampNtz"])
    assert upgraded_for(ready, metadata(NESTED_NTZ)) is ready


def test_a_table_on_a_preview_is_not_moved_to_the_final_feature() -> None:
    protocol = listing("typeWidening-preview")
    assert upgraded_for(protocol, metadata(delta__enableTypeWidening="true")) is protocol


@pytest.mark.parametrize(
    ("protocol", "weakest"),
    [
        (Protocol(1, 2), Protocol(1, 2)),
        (Protocol(2, 3), Protocol(1, 3)),
        (Protocol(1, 5), Protocol(1, 4)),
        (Protocol(3, 7, (), ("appendOnly", "invariants")), Protocol(1, 2)),
        (Protocol(3, 7, (), ("rowTracking",)), Protocol(1, 7, None, ("rowTracking",))),
        (
            Protocol(3, 7, ("columnMapping",), ("columnMapping",)),
            Protocol(2, 7, None, ("columnMapping",)),
        ),
    ],
)
def test_normalizing_gives_the_weakest_equal_protocol(
    protocol: Protocol, weakest: Protocol
) -> None:
    assert normalize(protocol) == weakest


NAMES = st.lists(st.sampled_from([*FEATURES, "fromTheFuture"]), unique=True)


@settings(deadline=None)
@given(NAMES, st.lists(st.sampled_from(sorted(FEATURES)), unique=True))
def test_upgrades_and_normalizing_lose_no_feature_and_settle(
    names: list[str], more: list[str]
) -> None:
    protocol = listing(*names)
    weakest = normalize(protocol)
    assert supported_features(weakest) == supported_features(protocol)
    assert normalize(weakest) == weakest
    upgrade = upgraded(protocol, more)
    assert supported_features(upgrade) >= {*names, *more}
    assert upgraded(upgrade, more) is upgrade
    for name in set(more):
        assert supported_features(upgrade) >= set(FEATURES[name].requires)


@settings(deadline=None)
@given(NAMES)
def test_readers_of_features_are_always_listed_on_both_sides(names: list[str]) -> None:
    result = normalize(listing(*names))
    if result.min_reader_version == 3:
        assert set(result.reader_features or ()) <= set(result.writer_features or ())
        assert result.min_writer_version == 7
    else:
        assert result.reader_features is None

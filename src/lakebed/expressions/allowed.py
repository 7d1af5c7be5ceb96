"""Which expressions the metadata of a table may have: checks, generated columns, defaults.

Writing to a table runs them, whoever wrote them. So they may only call built-in functions that
compute a value from their arguments: none that reads a file or the environment, loads a class,
calls a method of Java or Python or looks into another table. What is not in these tables of names
is refused, unless the setting `ALLOWED_FUNCTIONS` has its name. New functions of Spark are refused
until they are added.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from lakebed.errors import ExpressionNotAllowedError, SchemaError
from lakebed.expressions.parser.tokens import Kind, Token, tokenize
from lakebed.settings.setting_table import ALLOWED_FUNCTIONS


class ExpressionKind(Enum):
    """Where in the metadata an expression is."""

    CHECK = "CHECK constraint"
    INVARIANT = "invariant"
    GENERATED = "generated column"
    DEFAULT = "default"


@dataclass
class Parts:
    """What an expression is made of.

    `functions` and `names` are the parts of dotted names; `names` are those of columns, unless
    they are of functions that need no parentheses, such as `current_date`. `replaced` are functions
    that the session has put in the place of built-in ones. `others` are things like a subquery.
    """

    functions: list[tuple[str, ...]] = field(default_factory=list)
    names: list[tuple[str, ...]] = field(default_factory=list)
    replaced: frozenset[str] = frozenset()
    others: list[str] = field(default_factory=list)


def check_parts(
    parts: Parts,
    sql: str,
    kind: ExpressionKind,
    where: str,
    columns: Iterable[str],
    also: Iterable[str],
) -> None:
    """Refuses what may not be in an expression.

    `where` is the name of the constraint or column, `columns` are what it can name, and `also` has
    more functions that it may call.
    """
    of = " of" if kind in (ExpressionKind.DEFAULT, ExpressionKind.INVARIANT) else ""
    what = f"the {kind.value}{of} {where}"
    known = {name.lower() for name in columns}
    more = {name.strip().lower() for name in also}
    calls = list(parts.functions)
    for name in parts.names:
        if name[0].lower() in known:
            continue
        if len(name) > 1 or name[0].lower() not in WITHOUT_PARENTHESES:
            raise SchemaError(
                f"{what} ({sql}) names {'.'.join(name)!r}, which is not a column that it can use",
                hint="correct it, or drop it from the table",
                condition="DELTA_INVALID_GENERATED_COLUMN_REFERENCES",
            )
        calls.append(name)
    if parts.others:
        raise _refused(what, sql, parts.others[0])
    for name in calls:
        called = name[-1].lower() if name[:-1] == ("system", "builtin") else ".".join(name).lower()
        if called in more:
            continue
        if called in parts.replaced:
            raise _refused(
                what, sql, f"the function {called}, which this session has replaced by another"
            )
        if called not in ALLOWED and called not in _BY_KIND[kind]:
            raise _refused(what, sql, f"the function {called}")


def parts_of_text(sql: str) -> Parts:
    """What an expression is made of as far as its tokens say, which is more rather than less.

    For sessions whose parser is out of reach: clients of Spark Connect.
    """
    tokens = tokenize(sql)
    found = Parts()
    for index, token in enumerate(tokens[:-1]):
        if token.is_word(*_OF_QUERIES):
            found.others.append(_OF_QUERIES[token.text.upper()])
        elif token.is_symbol("$", "?", "{", "@"):
            found.others.append(f"the sign {token.text}")
        elif tokens[index + 1].is_symbol("(") and _is_name(token):
            name = _dotted(tokens, index)
            if name is not None:
                found.functions.append(name)
        elif token.kind is Kind.WORD and token.text.lower() in _OF_SESSION:
            found.names.append((token.text,))
    return found


def _is_name(token: Token) -> bool:
    is_keyword = token.kind is Kind.WORD and token.text.upper() in _BEFORE_PARENTHESES
    return token.kind in (Kind.WORD, Kind.QUOTED) and not is_keyword


def _dotted(tokens: list[Token], place: int) -> tuple[str, ...] | None:
    name = [tokens[place].text]
    while place > 1 and tokens[place - 1].is_symbol("."):
        place -= 2
        name.insert(0, tokens[place].text)
    is_type = place and (tokens[place - 1].is_word("AS") or tokens[place - 1].is_symbol("::"))
    return None if is_type and name[0].upper() in _TYPES else tuple(name)


def _refused(what: str, sql: str, found: str) -> ExpressionNotAllowedError:
    is_function = found.startswith("the function ")
    return ExpressionNotAllowedError(
        f"{what} ({sql}) uses {found}; the metadata of a table may only call built-in functions "
        "that compute a value from their arguments",
        hint="if you trust the table, add the function to the setting "
        f"{ALLOWED_FUNCTIONS.name}, or drop it from the table"
        if is_function
        else "drop it from the table, or write it with columns and functions alone",
    )


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


ALLOWED = _names(
    # operators under the names of functions
    """
    ! != <> = == < <= <=> > >= + - * / % & | ^ ~ << >> >>> and or not div mod like ilike rlike
    regexp regexp_like in between
    """
    # conditions and nulls
    """
    case when if coalesce ifnull nvl nvl2 nullif nanvl nullifzero zeroifnull equal_null isnull
    isnotnull isnan greatest least
    """
    # types
    """
    cast try_cast bigint binary boolean date decimal double float int smallint string time timestamp
    tinyint typeof to_char to_varchar to_number try_to_number to_binary try_to_binary
    """
    # numbers
    """
    abs acos acosh asin asinh atan atan2 atanh bin bround cbrt ceil ceiling conv cos cosh cot csc
    degrees e exp expm1 factorial floor hex hypot ln log log10 log1p log2 negative pi pmod positive
    pow power radians rint round sec sign signum sin sinh sqrt tan tanh try_add try_divide try_mod
    try_multiply try_subtract unhex width_bucket bit_count bit_get getbit shiftleft shiftright
    shiftrightunsigned bitmap_bit_position bitmap_bucket_number bitmap_count
    """
    # strings and bytes
    """
    ascii base64 bit_length btrim char char_length character_length chr collate collation concat
    concat_ws contains decode elt encode endswith find_in_set format_number format_string initcap
    instr is_valid_utf8 lcase left len length levenshtein locate lower lpad ltrim luhn_check
    make_valid_utf8 mask octet_length overlay position printf quote regexp_count regexp_extract
    regexp_extract_all regexp_instr regexp_replace regexp_substr repeat replace reverse right rpad
    rtrim sentences soundex space split split_part startswith substr substring substring_index
    translate trim try_validate_utf8 ucase unbase64 upper validate_utf8 crc32 hash md5 sha sha1 sha2
    xxhash64 parse_url try_parse_url url_decode try_url_decode url_encode
    """
    # dates and times
    """
    add_months convert_timezone date_add date_diff date_format date_from_unix_date date_part
    date_sub date_trunc dateadd datediff datepart day dayname dayofmonth dayofweek dayofyear extract
    from_unixtime from_utc_timestamp hour last_day make_date make_dt_interval make_interval
    make_time make_timestamp make_timestamp_ltz make_timestamp_ntz make_ym_interval minute month
    monthname months_between next_day quarter second time_bucket time_diff time_from_micros
    time_from_millis time_from_seconds time_to_micros time_to_millis time_to_seconds time_trunc
    timestamp_micros timestamp_millis timestamp_nanos timestamp_seconds timestampadd timestampdiff
    to_date to_time to_timestamp to_timestamp_ltz to_timestamp_ntz to_unix_timestamp
    to_utc_timestamp trunc try_make_interval try_make_timestamp try_make_timestamp_ltz
    try_make_timestamp_ntz try_to_date try_to_time try_to_timestamp unix_date unix_micros
    unix_millis unix_nanos unix_seconds unix_timestamp weekday weekofyear window_time year
    """
    # arrays, maps and structs
    """
    array array_append array_compact array_contains array_distinct array_except array_insert
    array_intersect array_join array_max array_min array_position array_prepend array_remove
    array_repeat array_size array_union arrays_overlap arrays_zip flatten get sequence slice
    sort_array cardinality element_at try_element_at size map map_concat map_contains_key
    map_entries map_from_arrays map_from_entries map_keys map_values str_to_map named_struct struct
    aggregate array_sort exists filter forall map_filter map_zip_with reduce transform
    transform_keys transform_values zip_with
    """
    # JSON, CSV and variants; their readers take a schema as text and load no class
    """
    from_json get_json_object json_array_length json_object_keys schema_of_json to_json from_csv
    schema_of_csv to_csv is_valid_variant is_variant_null parse_json schema_of_variant
    to_variant_object try_parse_json try_variant_get variant_get
    """
    # XML: Spark's parser for these follows no reference out of the text
    """
    xpath xpath_boolean xpath_double xpath_float xpath_int xpath_long xpath_number xpath_short
    xpath_string
    """
    # what a condition says of a row that it refuses
    """
    assert_true raise_error
    """
)
"""Built-in functions that give the same value for the same arguments and touch nothing else.

`delta-spark`'s list for generated columns is a part of it.
"""
_MOMENTS = _names(
    "curdate current_date current_time current_timestamp current_timezone localtime localtimestamp "
    "now"
)
_OF_SESSION = _MOMENTS | _names(
    "current_catalog current_database current_schema current_user session_user user"
)
WITHOUT_PARENTHESES = _OF_SESSION | _names("grouping__id current_path")
"""Functions that Spark finds by a plain name where there is no column of it."""
_BY_KIND: dict[ExpressionKind, frozenset[str]] = {
    ExpressionKind.CHECK: _MOMENTS,
    ExpressionKind.INVARIANT: _MOMENTS,
    ExpressionKind.GENERATED: frozenset(),
    ExpressionKind.DEFAULT: _OF_SESSION,
}
_OF_QUERIES = {
    **dict.fromkeys(("SELECT", "WITH", "TABLE", "VALUES"), "a subquery"),
    "OVER": "a window",
    "IDENTIFIER": "IDENTIFIER",
}
_TYPES = _names("CHAR CHARACTER DEC DECIMAL NUMERIC STRING TIME TIMESTAMP VARCHAR")
_BEFORE_PARENTHESES = _names(
    "ALL AND ANY BETWEEN BOTH BY CASE COLLATE DISTINCT DIV ELSE ESCAPE FOR FROM ILIKE IN INTERVAL "
    "IS LEADING LIKE NOT OR PLACING REGEXP RLIKE SOME THEN TRAILING WHEN"
)

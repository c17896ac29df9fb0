//! The functions that a query may call: those that compute from what they are given and do nothing else.
//!
//! A list of what is allowed and not of what is not, because databases gain functions with each version and their owners
//! add their own. Functions that can make a small query cost much memory (`repeat`, `lpad`, aggregates into one value
//! without bound) are on it only where the connector bounds what comes of them.

use super::Flavor;

const EVERYWHERE: &str = "\
    abs acos asin atan atan2 avg ceil ceiling coalesce concat concat_ws cos count cume_dist date degrees \
    dense_rank exp first_value floor greatest lag last_value lead least length ln log log10 log2 lower \
    ltrim max min mod nth_value ntile nullif percent_rank pi pow power radians rank replace round \
    row_number rtrim sign sin sqrt substr substring sum tan trim trunc upper";

const POSTGRES: &str = "\
    age array_agg array_length array_position array_to_string ascii bit_and bit_or bool_and bool_or \
    btrim cardinality cbrt char_length character_length chr corr current_date current_time \
    current_timestamp date_bin date_part date_trunc div every extract generate_series initcap \
    isfinite json_agg json_array_elements json_array_elements_text json_array_length json_build_array \
    json_build_object json_each json_each_text json_extract_path json_extract_path_text json_object_agg \
    json_object_keys json_typeof jsonb_agg jsonb_array_elements jsonb_array_elements_text \
    jsonb_array_length jsonb_build_array jsonb_build_object jsonb_each jsonb_each_text \
    jsonb_extract_path jsonb_extract_path_text jsonb_object_agg jsonb_object_keys jsonb_typeof left \
    localtime localtimestamp make_date make_interval make_time make_timestamp md5 mode now num_nonnulls \
    num_nulls octet_length overlay percentile_cont percentile_disc plainto_tsquery position regexp_count \
    regexp_instr regexp_like regexp_match regexp_matches regexp_replace regexp_split_to_array \
    regexp_substr reverse right row row_to_json scale split_part starts_with stddev stddev_pop \
    stddev_samp string_agg string_to_array strpos to_char to_date to_json to_jsonb to_number \
    to_timestamp to_tsquery to_tsvector translate ts_rank unnest var_pop var_samp variance width_bucket";

const MYSQL: &str = "\
    adddate ascii bin bit_and bit_count bit_length bit_or char_length character_length conv cot crc32 \
    curdate current_date current_time current_timestamp curtime date_add date_format date_sub datediff \
    day dayname dayofmonth dayofweek dayofyear elt field find_in_set format from_days from_unixtime \
    group_concat hex hour if ifnull instr interval isnull json_array json_arrayagg json_contains \
    json_extract json_keys json_length json_object json_objectagg json_type json_unquote json_valid \
    json_value last_day lcase left locate makedate maketime md5 microsecond mid minute month monthname \
    now oct octet_length period_add period_diff position quarter regexp_instr regexp_replace \
    regexp_substr reverse right sec_to_time second sha1 sha2 soundex std stddev stddev_pop stddev_samp \
    str_to_date strcmp subdate substring_index time time_format time_to_sec timediff timestamp \
    timestampadd timestampdiff to_days truncate ucase unhex unix_timestamp utc_date utc_time \
    utc_timestamp var_pop var_samp variance week weekday weekofyear year yearweek";

const SQLITE: &str = "\
    char current_date current_time current_timestamp datetime format glob group_concat hex ifnull iif \
    instr json json_array json_array_length json_each json_extract json_group_array json_group_object \
    json_object json_quote json_tree json_type json_valid julianday like likelihood likely nullif \
    octet_length printf quote soundex strftime string_agg time timediff total typeof unicode unixepoch \
    unlikely";

/// Those that give rows and may stand after FROM.
const ROWS: &str = "\
    generate_series json_array_elements json_array_elements_text json_each json_each_text \
    json_object_keys json_tree jsonb_array_elements jsonb_array_elements_text jsonb_each jsonb_each_text \
    jsonb_object_keys regexp_matches unnest";

/// Whether a query may call a function of that name.
pub(super) fn is_allowed(flavor: Flavor, name: &str) -> bool {
    let own = match flavor {
        Flavor::Postgres => POSTGRES,
        Flavor::MySql => MYSQL,
        Flavor::Sqlite => SQLITE,
    };
    let name = name.to_ascii_lowercase();
    [EVERYWHERE, own].iter().any(|list| holds(list, &name))
}

/// Whether it may stand after FROM.
pub(super) fn gives_rows(flavor: Flavor, name: &str) -> bool {
    is_allowed(flavor, name) && holds(ROWS, &name.to_ascii_lowercase())
}

fn holds(list: &str, name: &str) -> bool {
    list.split_ascii_whitespace().any(|own| own == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORBIDDEN: &str = "\
        pg_read_file pg_read_binary_file pg_ls_dir lo_import lo_export lo_get dblink dblink_exec \
        pg_sleep pg_sleep_for set_config current_setting nextval setval pg_terminate_backend \
        pg_cancel_backend pg_reload_conf pg_advisory_lock query_to_xml database_to_xml pg_notify \
        txid_current load_file sleep benchmark get_lock load_extension readfile writefile edit \
        fts3_tokenizer randomblob zeroblob repeat lpad rpad sys_exec updatexml extractvalue \
        version user database";

    #[test]
    fn what_reaches_beyond_the_query_is_not_on_a_list() {
        for flavor in [Flavor::Postgres, Flavor::MySql, Flavor::Sqlite] {
            for name in FORBIDDEN.split_ascii_whitespace() {
                assert!(!is_allowed(flavor, name), "{flavor:?} {name}");
                assert!(!is_allowed(flavor, &name.to_uppercase()), "{flavor:?} {name}");
            }
        }
    }
}

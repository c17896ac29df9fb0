//! From a text to one statement, with nothing in it that another reader might read otherwise.

use sqlparser::ast::Statement;
use sqlparser::dialect::{Dialect, MySqlDialect, PostgreSqlDialect, SQLiteDialect};
use sqlparser::parser::{Parser, ParserOptions};
use sqlparser::tokenizer::{Token, Tokenizer, Whitespace};

use super::Flavor;
use super::guard::refused;
use crate::Failure;

/// The longest query, and the most words and signs in it. Chains of operators nest as deep as they are long.
const MOST_BYTES: usize = 32 << 10;
const MOST_TOKENS: usize = 4_000;

/// How deep parentheses nest.
const DEEPEST: usize = 50;

/// The one statement in a text.
pub(super) fn parse(flavor: Flavor, text: &str) -> Result<Statement, Failure> {
    let dialect = dialect(flavor);
    if text.len() > MOST_BYTES {
        return Err(refused("the query is longer than a query may be"));
    }
    let is_odd = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    if text.contains(is_odd) {
        return Err(refused("the query holds control characters"));
    }
    // What stands in some comments is run there.
    if flavor == Flavor::MySql && text.contains("/*") {
        return Err(refused("comments are not run; leave them out"));
    }
    if flavor == Flavor::MySql && text.contains('\\') {
        return Err(refused(
            "the query holds a backslash; put the value into params instead",
        ));
    }
    let unreadable = || {
        Failure::Rejected(format!(
            "the query cannot be read as a query for {}",
            flavor.shown()
        ))
    };
    // Quotes stay as they are written, so that they can be written again.
    let mut tokens = Tokenizer::new(&*dialect, text)
        .with_unescape(false)
        .tokenize()
        .map_err(|_| unreadable())?;
    while matches!(tokens.last(), Some(Token::Whitespace(white)) if !is_comment(white))
        || tokens.last() == Some(&Token::SemiColon)
    {
        tokens.pop();
    }
    let words = tokens
        .iter()
        .filter(|token| !matches!(token, Token::Whitespace(_)));
    if words.count() > MOST_TOKENS {
        return Err(refused("the query is longer than a query may be"));
    }
    if let Some(why) = tokens.iter().find_map(|token| doubtful(flavor, token)) {
        return Err(refused(why));
    }
    let parsed = Parser::new(&*dialect)
        .with_options(ParserOptions::new().with_unescape(false))
        .with_recursion_limit(DEEPEST)
        .with_tokens(tokens)
        .parse_statements();
    let mut statements = parsed.map_err(|_| unreadable())?;
    match (statements.pop(), statements.is_empty()) {
        (Some(statement), true) => Ok(statement),
        (None, _) => Err(Failure::Arguments("the query is empty".to_owned())),
        (Some(_), false) => Err(refused("only one statement is run")),
    }
}

fn dialect(flavor: Flavor) -> Box<dyn Dialect> {
    match flavor {
        Flavor::Postgres => Box::new(PostgreSqlDialect {}),
        Flavor::MySql => Box::new(MySqlDialect {}),
        Flavor::Sqlite => Box::new(SQLiteDialect {}),
    }
}

const fn is_comment(white: &Whitespace) -> bool {
    matches!(
        white,
        Whitespace::SingleLineComment { .. } | Whitespace::MultiLineComment(_)
    )
}

/// Why readers might not agree on a token, if they might not.
fn doubtful(flavor: Flavor, token: &Token) -> Option<&'static str> {
    match token {
        Token::Whitespace(white) if is_comment(white) => Some("comments are not run; leave them out"),
        Token::SemiColon => Some("only one statement is run"),
        Token::Whitespace(_)
        | Token::Word(_)
        | Token::Number(_, false)
        | Token::SingleQuotedString(_)
        | Token::HexStringLiteral(_)
        | Token::Comma
        | Token::Eq
        | Token::Neq
        | Token::Lt
        | Token::Gt
        | Token::LtEq
        | Token::GtEq
        | Token::Spaceship
        | Token::Plus
        | Token::Minus
        | Token::Mul
        | Token::Div
        | Token::Mod
        | Token::StringConcat
        | Token::LParen
        | Token::RParen
        | Token::LBracket
        | Token::RBracket
        | Token::Period
        | Token::Colon
        | Token::DoubleColon
        | Token::Ampersand
        | Token::Pipe
        | Token::Caret
        | Token::Sharp
        | Token::Tilde
        | Token::TildeAsterisk
        | Token::ExclamationMarkTilde
        | Token::ExclamationMarkTildeAsterisk
        | Token::ShiftLeft
        | Token::ShiftRight
        | Token::Overlap
        | Token::Arrow
        | Token::LongArrow
        | Token::HashArrow
        | Token::HashLongArrow
        | Token::AtArrow
        | Token::ArrowAt
        | Token::Question
        | Token::QuestionAnd
        | Token::QuestionPipe
        | Token::AtQuestion
        | Token::AtAt
        | Token::EOF => None,
        Token::DoubleEq if flavor == Flavor::Sqlite => None,
        Token::DoubleQuotedString(_) if flavor == Flavor::MySql => None,
        Token::Placeholder(mark) => {
            let plain = match flavor {
                Flavor::Postgres => mark.strip_prefix('$').is_some_and(|number| {
                    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
                }),
                Flavor::MySql | Flavor::Sqlite => mark == "?",
            };
            (!plain).then_some("a place for a value is written $1 (PostgreSQL) or ? (others)")
        }
        _ => Some("the query holds a sign or a way of quoting that is not allowed; put values into params"),
    }
}

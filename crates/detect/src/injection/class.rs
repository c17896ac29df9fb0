//! The meanings that words are sorted into.

use std::ops::{BitAnd, BitOr, BitOrAssign};

/// How many classes one part of a set holds.
const PART: usize = 128;

/// A set of meanings, one bit for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ClassSet(u128, u64);

impl ClassSet {
    pub(super) const fn is_empty(self) -> bool {
        self.0 == 0 && self.1 == 0
    }

    pub(super) const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0 || self.1 & other.1 != 0
    }

    pub(super) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0, self.1 & !other.1)
    }

    /// Whether the class of this number is in the set.
    pub(super) const fn has(self, number: usize) -> bool {
        match number.checked_sub(PART) {
            None => self.0 >> number & 1 != 0,
            Some(number) => number < u64::BITS as usize && self.1 >> number & 1 != 0,
        }
    }

    /// The classes in the set, by number.
    pub(super) fn numbers(self) -> impl Iterator<Item = usize> {
        let Self(mut left, mut more) = self;
        std::iter::from_fn(move || {
            if left != 0 {
                let number = left.trailing_zeros() as usize;
                left &= left - 1;
                return Some(number);
            }
            let number = PART + more.trailing_zeros() as usize;
            more &= more.wrapping_sub(1);
            (number < Class::COUNT).then_some(number)
        })
    }
}

impl From<Class> for ClassSet {
    fn from(class: Class) -> Self {
        let number = class as usize;
        match number.checked_sub(PART) {
            None => Self(1 << number, 0),
            Some(number) => Self(0, 1 << number),
        }
    }
}

impl BitOr for ClassSet {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0, self.1 | other.1)
    }
}

impl BitAnd for ClassSet {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0, self.1 & other.1)
    }
}

impl BitOrAssign for ClassSet {
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}

macro_rules! classes {
    ($($name:ident $text:literal,)*) => {
        /// What a word or a shape means to the patterns.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Class { $($name,)* }

        impl Class {
            pub(super) const COUNT: usize = [$($text),*].len();

            pub(super) fn named(name: &str) -> Option<Self> {
                match name {
                    $($text => Some(Self::$name),)*
                    _ => None,
                }
            }
        }
    };
}

classes! {
    Override "override",
    Prior "prior",
    Allof "allof",
    Yours "yours",
    Instr "instr",
    Softinstr "softinstr",
    Andthen "andthen",
    Instead "instead",
    Dictate "dictate",
    Voided "voided",
    Newer "newer",
    Chattoken "chattoken",
    Systemword "systemword",
    Systemlead "systemlead",
    Assistant "assistant",
    Newrole "newrole",
    Fromnow "fromnow",
    Freed "freed",
    Jailbreak "jailbreak",
    Authority "authority",
    Before "before",
    Firstdo "firstdo",
    Usertask "usertask",
    Please "please",
    Send "send",
    Pay "pay",
    Get "get",
    Reveal "reveal",
    My "my",
    Object "object",
    Secret "secret",
    Personal "personal",
    Concealer "concealer",
    Listener "listener",
    Urgent "urgent",
    Toolword "toolword",
    Usetool "usetool",
    Toolcall "toolcall",
    Hijack "hijack",
    Hypothesis "hypothesis",
    Outputword "outputword",
    Chain "chain",
    Address "address",
    Link "link",
    Account "account",
    Money "money",
    Filled "filled",
    Toolname "toolname",
    Sessiontool "sessiontool",
    Amoralsoft "amoralsoft",
    Safetypolicy "safetypolicy",
    Todolead "todolead",
    Learned "learned",
    Article "article",
    Neverrefuse "neverrefuse",
    Vendorpolicy "vendorpolicy",
    Amoral "amoral",
    Persona "persona",
    Asanai "asanai",
    Mailparts "mailparts",
    Secretpath "secretpath",
    Useasks "useasks",
    Toolinvoke "toolinvoke",
    Syscolon "syscolon",
    Personalsoft "personalsoft",
    Danname "danname",
    Quietly "quietly",
    Data "data",
    Actas "actas",
    Pretext "pretext",
    Speak "speak",
    Solely "solely",
    Stopall "stopall",
    Nevermind "nevermind",
    Whenasked "whenasked",
    Tellme "tellme",
    Thesecret "thesecret",
    Harm "harm",
    Userdata "userdata",
    Splitpart "splitpart",
    Destmine "destmine",
    Strongact "strongact",
    Ident "ident",
    Disguise "disguise",
    Wouldsay "wouldsay",
    Recast "recast",
    Yoursecret "yoursecret",
    Shot "shot",
    Endless "endless",
    Withheld "withheld",
    Encoding "encoding",
    Asked "asked",
    Whereabouts "whereabouts",
    Repeatall "repeatall",
    Completion "completion",
    Terminal "terminal",
    Dictated "dictated",
    Nottask "nottask",
    Framesay "framesay",
    Supposing "supposing",
    Lives "lives",
    Thewords "thewords",
    Given "given",
    Youraccess "youraccess",
    Yoursetup "yoursetup",
    Destroy "destroy",
    Shown "shown",
    Canyou "canyou",
    Cipher "cipher",
    Turn "turn",
    Iftell "iftell",
    Benefit "benefit",
    Storyframe "storyframe",
    Resulting "resulting",
    Obey "obey",
    Decoding "decoding",
    Obeyit "obeyit",
    Hypoconv "hypoconv",
    Retired "retired",
    Otherworld "otherworld",
    Tellit "tellit",
    Claimthat "claimthat",
    Wheredoes "wheredoes",
    Dwell "dwell",
    Answered "answered",
    Lastasked "lastasked",
    Need "need",
    Asksecret "asksecret",
    Idiom "idiom",
    Theirdata "theirdata",
    Recite "recite",
    Yourown "yourown",
    Overridesoft "overridesoft",
    Sayforeign "sayforeign",
    Tellyours "tellyours",
    Contradict "contradict",
    Replyto "replyto",
    Yourkey "yourkey",
    Modeclaim "modeclaim",
    Asksabout "asksabout",
    Reported "reported",
    Softlead "softlead",
    Softnote "softnote",
    Aireader "aireader",
    Readingthis "readingthis",
    Callai "callai",
    Hailai "hailai",
    Remark "remark",
    Must "must",
    Grade "grade",
    Beginend "beginend",
    Yourreplies "yourreplies",
    Saysquoted "saysquoted",
    Everyquestion "everyquestion",
    Always "always",
    Inreplies "inreplies",
    Praise "praise",
    Yourtask "yourtask",
    Yourtold "yourtold",
    Overnow "overnow",
    Newtask "newtask",
    Yoursafety "yoursafety",
    Freedall "freedall",
    Youare "youare",
    Privilege "privilege",
    Slot "slot",
    Softtoken "softtoken",
    Whichwould "whichwould",
    Abovethis "abovethis",
    Halt "halt",
    Botdown "botdown",
    Newbot "newbot",
    Kin "kin",
    Whereis "whereis",
    Nevermindsoft "nevermindsoft",
    Partof "partof",
    Attackterm "attackterm",
}

const _: () = assert!(
    Class::COUNT <= PART + 64,
    "a set holds as many classes as it has bits"
);

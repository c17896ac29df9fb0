//! How often bytes stand in prose, logs and records, roughly.

/// Words that stand in most prose, logs and records.
const EVERYDAY: &[u8] = b" the of and to in is that for on with as was this by are from at or an which be it not have has had but \
    all were when we there can more if will would about out up into than them only other new some could time these two may \
    then do first any like my now over such our even most made after also did many before must through back years where \
    much your way well down should because each just those people how too little state good very make world still own see \
    men work long get here between both life being under never day same another know while last might us great old year \
    off come since against go came right used take three report system service market during however several water around \
    small large number process different region quarter increase delivery schedule weather possible standard result \
    measure without already language history growth pattern surface average network request response message status \
    version error warning info debug true false null type value data list item items count total index date name title \
    description created updated content text body url http https www com org file path line code user users email phone \
    address company customer order product price amount account project issue comment please thank thanks regards meeting \
    team update available information support provide following example using used uses include including within contact \
    change changes option options default function return string object class method test tests build release note notes \
    document documents page pages section table figure chapter ation ition ing ings ment ness able ible ould ight ough \": \": \", \"";

/// What standing once in the everyday words adds.
const IN_EVERYDAY_WORDS: u32 = 6;

/// How common three bytes in a row are, in any case, on a rough scale.
pub(super) fn of_three(three: [u8; 3]) -> u32 {
    let three = three.map(|byte| byte.to_ascii_lowercase());
    let bytes: u32 = three.into_iter().map(of_byte).sum();
    let standing = memchr::memmem::find_iter(EVERYDAY, &three).count();
    bytes + IN_EVERYDAY_WORDS * u32::try_from(standing).unwrap_or(u32::MAX / 64)
}

/// How common a byte is in prose, logs and JSON, on a rough logarithmic scale.
fn of_byte(byte: u8) -> u32 {
    match byte.to_ascii_lowercase() {
        b' ' | b'e' => 10,
        b't' | b'a' | b'o' | b'i' | b'n' | b's' | b'r' | b'"' => 9,
        b'h' | b'l' | b'd' | b'c' | b'u' | b'm' => 8,
        b'p' | b'f' | b'g' | b'y' | b'b' | b'w' | b',' | b'.' | b':' | b'\n' | b'0' | b'1' | b'2' => 7,
        b'v' | b'k' | b'-' | b'_' | b'/' | b'3'..=b'9' => 5,
        b'x' | b'j' | b'q' | b'z' => 3,
        _ => 2,
    }
}

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// The user and the organization of these tests.
const ABOUT: [&str; 4] = ["Ouyang.Xiaolong", "欧阳小龙", "Deskpass", "Example Trading"];

fn judged(password: &str) -> Option<Weakness> {
    weakness(password, &ABOUT)
}

/// A single common word or pattern with additions.
const COMMON: [&str; 97] = [
    // A listed word with additions, or doubled.
    "Password2024!",
    "password1234",
    "Password@123",
    "PASSWORD!!!!!",
    "passwordpassword1",
    "12345password",
    "2024Password!",
    "mypassword123",
    "newpassword12",
    "adminadmin12",
    "Admin@123456",
    "Admin123456!",
    "administrator",
    "Administrator1",
    "welcome12345",
    "Welcome2024!!",
    "WelcomeWelcome1",
    "changeme1234",
    "ChangeMe2025!",
    "letmein12345",
    "iloveyou1234",
    "iloveyou2023!",
    "Summer2024!!",
    "Winter-2023-!",
    "December2024",
    "September24!",
    "monkey123456",
    "dragon123456",
    "football2024",
    "princess1234",
    "sunshine2024",
    "baseball1999",
    "superman!123",
    "helloworld12",
    "test12345678",
    "guest1234567",
    "manager#2024",
    "support12345",
    "security2024",
    "michael19880",
    // With the usual letter substitutions, in any case, full width, backwards.
    "p@ssw0rd2024",
    "P@$$w0rd1234",
    "P4ssw0rd!!!!",
    "pa55word9999",
    "PaSsWoRd1234",
    "l3tm31n12345",
    "w3lc0me12345",
    "4dm1n1str4t0r",
    "adm!n!strator",
    "ｐａｓｓｗｏｒｄ１２３４",
    "drowssap4321",
    "4321emoclew!",
    // Keyboard rows, columns, counting.
    "123456789012",
    "1234567890123",
    "098765432109",
    "abcdefghijkl",
    "abcdefg1234567",
    "ABCD1234abcd",
    "zyxwvutsrqpo",
    "qwertyuiopas",
    "qwertyuiop12",
    "QWERTYuiop[]",
    "poiuytrewq12",
    "asdfghjkl123",
    "zxcvbnm12345",
    "qwerty123456",
    "qwe123qwe456",
    "123qweasdzxc",
    "1qaz2wsx3edc",
    "1qaz@WSX3edc",
    "!QAZ2wsx#EDC",
    "zaq12wsxcde3",
    "1q2w3e4r5t6y",
    "q1w2e3r4t5y6",
    "a1b2c3d4e5f6",
    "!@#$%^&*()_+",
    "147258369147",
    "112233445566",
    "aaaabbbbccccdddde",
    "11112222333344445",
    "aabbccddeeff",
    "AABBccddeeff12",
    // Common in Chinese.
    "woaini1314520",
    "woaini5201314",
    "Woaini@1314!",
    "5201314woaini",
    "wodemima1234",
    "zhangwei1990",
    "zhangwei19900101",
    "19900101wangfang",
    "nihaoshijie1",
    "suntao19880808",
    "liuxiaomei1992",
    "qianduoduo888",
    "woaizhongguo",
    "我爱你我爱你1314520",
    "一二三四五六七八九十一二",
];

/// Passwords that are hard to guess.
const GOOD: [&str; 58] = [
    // Several words.
    "correct horse battery staple",
    "correcthorsebatterystaple",
    "Correct-Horse-9-Battery",
    "purple monkey dishwasher",
    "seven green umbrellas dance",
    "the cat sat on a piano",
    "my other car is a tractor",
    "lantern.cobalt.mitten",
    "tulip-anchor-velvet-drum",
    "rain on a tin roof in may",
    "we met at gate 43 in oslo",
    "coffee first, tickets later",
    "nobody reads the manual",
    "pickled onions at midnight",
    "left shoe, right pocket",
    "granite whistle parade",
    "blue door behind the mill",
    "an honest 3 o'clock lunch",
    "fern_quartz_hollow_71",
    "borrowed ladder, tall fence",
    "zwei Kisten voller Äpfel",
    "le chat dort sur le toit",
    "тихий вечер у старой реки",
    "春の夜に猫が三匹で歌う声",
    "비 오는 날에는 부침개를 먹자",
    // Chinese, written and typed.
    "四匹马在雨里跑过小桥的时候",
    "昨天邻居家的猫偷吃了鱼汤",
    "地铁三号线末班车上的灯坏了",
    "奶奶腌的萝卜放在第七格架子",
    "他把雨伞忘在旧书店的楼梯口",
    "woxihuanxiayutiandushu",
    "linjudemaotouchiyutang",
    "sanhaoxianmobanchetaiji",
    // Without any pattern.
    "vR7-kQ2m!zTpx",
    "x9$Lm2#Qw8!Rt",
    "hG5tRw9KpL2x",
    "qzvxkjwmhtbn",
    "7f3a9c1e5b8d",
    "Zk4!pWq8#nYd",
    "uJ2~xQ9^bN5%",
    "t6Ym-w3Kd-p8Rz",
    "mzxw-6ytb-ojtg-633c",
    "kT9vN4sXb2Lq7Hd",
    "n0vHq8sLxe2kWd",
    "83917 46205 1873",
    "rJx0eiHkTzQw",
    "Gv8=dLq2:xTm7",
    "e3b0c44298fc1c14",
    "tb9x hq4m zz7k",
    "ÅqÖ7ßvÉ2ñÜx9",
    // A common word with enough additions.
    "dragon-vR7kQ2mz",
    "password is kx82hv",
    "monkey.bicycle.teapot",
    "Welcome to the 9th floor kitchen",
    "qwerty keyboards are for typists",
    "summer of the broken kite",
    "2024 was the year of the goat farm",
    "admin of nothing, king of naps",
];

#[test]
fn a_password_may_be_long_and_does_not_print_itself() {
    let of = |length| Password::parse("x".repeat(length));
    assert_eq!(of(1_024).map(|password| password.expose().len()), Some(1_024));
    assert_eq!((of(1_025), Password::parse("雨".repeat(342))), (None, None), "bytes, not characters");
    assert_eq!(format!("{:?}", of(12)), "Some(Password)");
}

#[test]
fn common_passwords_are_refused() {
    let taken: Vec<_> = COMMON.into_iter().filter(|password| judged(password) != Some(Weakness::Common)).collect();
    assert!(taken.is_empty(), "{taken:?}");
}

#[test]
fn good_passwords_are_taken() {
    let refused: Vec<_> = GOOD.into_iter().filter_map(|password| Some((password, judged(password)?))).collect();
    assert!(refused.is_empty(), "{refused:?}");
}

#[test]
fn twelve_to_a_hundred_and_twenty_eight_characters() {
    let long: String = GOOD.join(" ").chars().take(129).collect();
    let of = |length: usize| long.chars().take(length).collect::<String>();
    assert_eq!(judged(""), Some(Weakness::TooShort));
    assert_eq!(judged("vR7-kQ2m!zT"), Some(Weakness::TooShort));
    assert_eq!(judged("vR7-kQ2m!zTp"), None);
    assert_eq!(judged(&of(128)), None);
    assert_eq!(judged(&of(129)), Some(Weakness::TooLong));
    assert_eq!(judged(&"x".repeat(1_000_000)), Some(Weakness::TooLong));
    // Counts characters, not bytes.
    assert_eq!(judged("四匹马在雨里跑过小桥"), Some(Weakness::TooShort));
    assert_eq!(judged(&GOOD.join(" ").replace(' ', "雨").chars().take(128).collect::<String>()), None);
}

#[test]
fn repetition_does_not_add_length() {
    let monotonous = [
        "aaaaaaaaaaaa",
        "            ",
        "abababababab",
        "AbCaBcAbCaBc",
        "aaaabbbbcccc",
        "112211221122",
        "vR7-vR7-vR7-",
        "vR7kQ2mxvR7kQ2mx",
        "vR7kQ2mxzTpvR7kQ2mxzTp",
        "哈哈哈哈哈哈哈哈哈哈哈哈",
        "我爱你我爱你我爱你我爱你",
        "passwordpassword",
        "....,,,,....,,,,",
    ];
    for password in monotonous {
        assert_eq!(judged(password), Some(Weakness::Monotonous), "{password}");
    }
    assert_eq!(judged("vR7kQ2mxzTpwvR7kQ2mxzTpw"), None, "twelve, twice");
}

#[test]
fn words_about_the_person_and_the_place_are_refused() {
    let personal = [
        "xiaolong-vR7kQ2m!",
        "vR7kQ2m!Ouyang-pq",
        "OUYANGXIAOLONG-k7w",
        "x1a0l0ng-vR7kQ2m",
        "vR7kQ2m-gnoloaix",
        "vR7-deskpass-kQ2m",
        "D3skp@ss-vR7kQ2m",
        "vR7-kQ2m-trading",
        "ｄｅｓｋｐａｓｓ-vR7kQ2m",
        "雨里的欧阳小龙跑过旧桥的时候",
    ];
    for password in personal {
        assert_eq!(judged(password), Some(Weakness::Personal), "{password}");
        assert_eq!(weakness(password, &[]), None, "{password} says nothing of others");
    }
}

#[test]
fn short_words_and_empty_names_forbid_nothing() {
    for about in ["", " ", "-", "Li", "wei", "a.b.c", "伟", "x_y"] {
        assert_eq!(weakness("wei a b c li 伟 vR7-kQ2m", &[about]), None, "{about:?}");
    }
    assert_eq!(weakness("abc vR7-kQ2m!zT", &["a.b.c."]), None);
    assert_eq!(weakness("zhangwei-vR7kQ2m", &["zhang-wei"]), Some(Weakness::Personal));
    assert_eq!(weakness("li-wei-vR7kQ2m!x", &["li.wei"]), None);
    assert_eq!(weakness("liwei-vR7kQ2m!xx", &["li.wei"]), Some(Weakness::Personal));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// Some random letters form words by chance.
    #[test]
    fn random_letters_are_good(passwords in vec("[a-z]{12,20}", 100)) {
        let refused = passwords.iter().filter(|password| weakness(password, &[]).is_some()).count();
        prop_assert!(refused <= 3, "{} of {:?}", refused, passwords);
    }
}

proptest! {
    #[test]
    fn a_listed_word_and_four_digits_never_are(word in "(welcome|Shadow|MASTER|charlie|freedom|Computer)", digits in "[0-9]{4}", sign in "[!@#.]?") {
        let password = format!("{sign}{word}{digits}");
        prop_assert!(weakness(&password, &[]).is_some());
    }

    #[test]
    fn arbitrary_text_never_panics(password in "\\PC{0,140}", about in "\\PC{0,20}") {
        let _ = weakness(&password, &[&about]);
    }

    #[test]
    fn case_makes_no_difference(password in "[a-zA-Z0-9 ]{12,20}") {
        prop_assert_eq!(judged(&password), judged(&password.to_uppercase()));
    }
}

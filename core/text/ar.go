package text

// arabicPlural is the plural rule of Arabic, which has all forms.
func arabicPlural(n int64) Form {
	switch rest := n % 100; {
	case n == 0:
		return Zero
	case n == 1:
		return One
	case n == 2:
		return Two
	case rest >= 3 && rest <= 10:
		return Few
	case rest >= 11:
		return Many
	}
	return Other
}

// The Arabic texts are also the example of a language that is written from right to
// left and has six plural forms. Numbers have European digits, as on most
// shop pages, and direction marks that keep a number and its sign in order.
var arabic = Catalog{
	numbers: numbers{
		decimal: ".", group: ",", grouped: 4, percent: "{n}\u200e%\u200e", money: "\u2066{n}" + noBreak + "{symbol}\u2069",
		symbols: []string{"USD", "US$", "EUR", "€", "GBP", "£", "CAD", "CA$", "AUD", "AU$", "JPY", "¥", "SAR", "ر.س", "AED", "د.إ", "EGP", "ج.م", "INR", "₹", "CNY", "CN¥", "ILS", "₪"},
	},
	plural: arabicPlural, forms: []Form{Zero, One, Two, Few, Many},

	Off:         "خصم {percent}",
	OfOrder:     "{percent} من قيمة الطلب",
	OfEachOrder: "{percent} من قيمة كل طلب",
	EachOrder:   "{reward} عن كل طلب",
	UpTo:        "ما يصل إلى {reward}",
	CodeOff:     "رمز خصم بنسبة {percent}",
	CodeWorth:   "رمز خصم بقيمة {amount}",
	CodeFor:     "رمزًا مقابل {amount}",
	Gift:        "هدية بقيمة {amount}",
	SomeReward:  "مكافأة",
	Days:        Plural{Zero: "{n} يوم مجانًا", One: "يومًا واحدًا مجانًا", Two: "يومين مجانًا", Few: "{n} أيام مجانًا", Many: "{n} يومًا مجانًا", Other: "{n} يوم مجانًا"},
	Weeks:       Plural{Zero: "{n} أسبوع مجانًا", One: "أسبوعًا واحدًا مجانًا", Two: "أسبوعين مجانًا", Few: "{n} أسابيع مجانًا", Many: "{n} أسبوعًا مجانًا", Other: "{n} أسبوع مجانًا"},
	Months:      Plural{Zero: "{n} شهر مجانًا", One: "شهرًا واحدًا مجانًا", Two: "شهرين مجانًا", Few: "{n} أشهر مجانًا", Many: "{n} شهرًا مجانًا", Other: "{n} شهر مجانًا"},
	Years:       Plural{Zero: "{n} سنة مجانًا", One: "سنة واحدة مجانًا", Two: "سنتين مجانًا", Few: "{n} سنوات مجانًا", Many: "{n} سنة مجانًا", Other: "{n} سنة مجانًا"},
	Points:      Plural{Zero: "{n} نقطة", One: "نقطة واحدة", Two: "نقطتين", Few: "{n} نقاط", Many: "{n} نقطة", Other: "{n} نقطة"},

	TierOne:   "الإحالة رقم {from}: {reward}.",
	TierRange: "الإحالات من {from} إلى {to}: {reward} عن كل إحالة.",
	TierFrom:  "ابتداءً من الإحالة رقم {from}: {reward} عن كل إحالة.",
	Least:     "بحد أدنى {amount} عن كل طلب.",
	Most:      "بحد أقصى {amount} عن كل طلب.",
	MinOrder:  "للطلبات بقيمة {amount} أو أكثر.",
	Orders:    Plural{Zero: "يُحتسب أول {n} طلب.", One: "يُحتسب الطلب الأول فقط.", Two: "يُحتسب أول طلبين.", Few: "تُحتسب أول {n} طلبات.", Many: "يُحتسب أول {n} طلبًا.", Other: "يُحتسب أول {n} طلب."},
	ForMonths: Plural{Zero: "تُحتسب الطلبات خلال {n} شهر.", One: "تُحتسب الطلبات خلال شهر واحد.", Two: "تُحتسب الطلبات خلال شهرين.", Few: "تُحتسب الطلبات خلال {n} أشهر.", Many: "تُحتسب الطلبات خلال {n} شهرًا.", Other: "تُحتسب الطلبات خلال {n} شهر."},
	InTotal:   Plural{Zero: "{n} مكافأة كحد أقصى إجمالًا.", One: "مكافأة واحدة كحد أقصى إجمالًا.", Two: "مكافأتان كحد أقصى إجمالًا.", Few: "{n} مكافآت كحد أقصى إجمالًا.", Many: "{n} مكافأة كحد أقصى إجمالًا.", Other: "{n} مكافأة كحد أقصى إجمالًا."},
	Waiting:   Plural{Zero: "متاح بعد {n} يوم.", One: "متاح بعد يوم واحد.", Two: "متاح بعد يومين.", Few: "متاح بعد {n} أيام.", Many: "متاح بعد {n} يومًا.", Other: "متاح بعد {n} يوم."},
	ValidFor:  Plural{Zero: "صالح لمدة {n} يوم.", One: "صالح لمدة يوم واحد.", Two: "صالح لمدة يومين.", Few: "صالح لمدة {n} أيام.", Many: "صالح لمدة {n} يومًا.", Other: "صالح لمدة {n} يوم."},

	TitleBoth:      "أهدِ {give} واحصل على {get}",
	TitleGive:      "أهدِ أصدقاءك {give}",
	TitleGet:       "ادعُ أصدقاءك واحصل على {get}",
	TitleShare:     "شارك مع أصدقائك",
	GiftFromReward: "{name} يقدّم لك {reward}",
	GiftFrom:       "هدية من {name}",
	WelcomeReward:  "مرحبًا بك! تحصل على {reward}",
	Welcome:        "مرحبًا بك",
	TextConversion: "يسعدنا انضمامك إلينا. شارك رابطك الخاص ليحصل أصدقاؤك على الهدية نفسها.",
	TextSignIn:     "سجّل الدخول للحصول على رابطك الخاص.",
	TextBoth:       "شارك رابطك. عندما يصبح صديقك عميلًا، يحصل كلاكما على مكافأة.",
	TextShare:      "شارك رابطك مع أصدقائك.",

	Link:          "رابطك",
	Copy:          "نسخ",
	Copied:        "تم النسخ",
	CopyCode:      "نسخ الرمز {code}",
	Share:         "مشاركة…",
	Email:         "البريد الإلكتروني",
	Close:         "إغلاق",
	Friends:       "أصدقاؤك",
	LatestOf:      "آخر {n} من أصل {count}",
	NoFriends:     "لا يوجد أصدقاء بعد. يظهر هنا الأصدقاء الذين يفتحون رابطك.",
	AFriend:       "صديق",
	Joined:        "انضمّ",
	Complete:      "مكتمل",
	Ended:         "انتهى",
	Returned:      "مُسترجع",
	Have:          "لديك: {rewards}",
	And:           "{first} و{last}",
	Debt:          "رصيدك {amount} بسبب استرداد قيمة طلب. تُخصم القيمة من مكافآتك القادمة.",
	Codes:         "رموز الخصم الخاصة بك",
	CodeUntil:     "صالح حتى {date}",
	Pending:       "في الطريق إليك",
	PendingUntil:  "متاح ابتداءً من {date}",
	PendingReview: "قيد المراجعة",
	PendingCodes:  "في انتظار رموز جديدة",

	SubjectReward:    "احصل على {reward} من {shop}",
	InvitationReward: "أنصحك بتجربة {shop}. عبر رابطي تحصل على {reward}.",
	Subject:          "تعرّف على {shop}",
	Invitation:       "أنصحك بتجربة {shop}. ألقِ نظرة:",
}

var arabicPage = page{
	DeadTitle:  "هذا الرابط لا يعمل",
	DeadText:   "قد يكون الرابط غير مكتمل أو أزاله المتجر. اطلب رابطًا جديدًا من الصديق الذي أرسله إليك.",
	BusyTitle:  "يرجى المحاولة مرة أخرى بعد قليل",
	BusyText:   "فُتح هذا الرابط مرات كثيرة في وقت قصير. انتظر دقيقة ثم افتحه مرة أخرى.",
	ErrorTitle: "هذا الرابط لا يعمل حاليًا",
	ErrorText:  "الخطأ من جهتنا. يرجى فتح الرابط مرة أخرى بعد بضع دقائق.",
}

package importfile

import (
	"slices"
	"strings"

	"kith/core/job"
)

// synonym has other names of a column, in their canonical form: in English, German, French,
// Spanish, Portuguese and Arabic, and those of Mailchimp.
type synonym struct {
	column string
	// names are separated by blanks.
	names string
}

const (
	mailColumns  = "email emailaddress mail emailadresse mailadresse adressemail adresseemail adressedemessagerie courriel correo correoelectronico direcciondecorreo direcciondecorreoelectronico enderecodeemail correioeletronico البريدالإلكتروني البريدالالكتروني البريد"
	firstColumns = "firstname givenname forename vorname prenom nombre primernombre nome primeironome الاسمالاول الاسمالأول"
	lastColumns  = "lastname surname familyname nachname familienname nomdefamille apellido apellidos sobrenome apelido اسمالعائلة الاسمالاخير الاسمالأخير اللقب"
	userColumns  = "userid customerid customernumber clientid memberid contactid kundenid kundennummer kundennr benutzerid nutzerid idclient numeroclient numerodeclient idutilisateur idcliente idusuario numerodecliente numerodocliente codigodocliente معرفالعميل رقمالعميل معرفالمستخدم"
	accounts     = "accountid companyid organizationid organisationid accountnumber kontoid kontonummer firmenid idcompte numerodecompte identreprise idcuenta numerodecuenta idempresa idconta numerodaconta معرفالحساب رقمالحساب"
	created      = "datecreated createdat created createddate creationdate signupdate registered registeredat registrationdate erstelltam angelegtam erstellungsdatum registrierungsdatum registriertam registriert angemeldetam anmeldedatum zeitpunkt kundeseit customersince membersince joined joinedat signedupat optintime datedecreation datecreation datedinscription fechadecreacion fechaderegistro datadecriacao datadecadastro تاريخالانشاء تاريخالإنشاء تاريخالتسجيل"
	currencies   = "currency currencycode wahrung wahrungscode devise monnaie moneda divisa moeda العملة"
	keys         = "idempotencykey"
)

// mailchimp are columns of an audience that Mailchimp exports, which have no meaning here.
const mailchimp = "address phonenumber birthday memberrating optinip confirmtime confirmip latitude longitude gmtoff dstoff timezone cc region lastchanged leid euid notes tags unsubtime unsubcampaigntitle unsubcampaignid unsubreason unsubreasonother cleantime cleancampaigntitle cleancampaignid"

// synonymsOf returns the columns of a type by the canonical forms of their names, also of
// Kith's own; the column is empty for one of another service that has no meaning here.
func synonymsOf(t job.Type) map[string]string {
	all := map[string]string{}
	for _, name := range strings.Fields(mailchimp) {
		all[name] = ""
	}
	for _, s := range []synonym{{"", mailColumns}, {"", firstColumns}, {"", lastColumns}} {
		s.add(all)
	}
	for _, s := range columnSynonyms(t) {
		s.add(all)
	}
	r := rulesOf(t)
	for _, name := range r.ignored {
		all[canonical(name)] = name
	}
	for other, name := range r.aliases {
		all[canonical(other)] = name
	}
	for name := range r.known {
		all[canonical(name)] = name
	}
	return all
}

func (s synonym) add(all map[string]string) {
	for _, name := range strings.Fields(s.names) {
		all[canonical(name)] = s.column
	}
}

func columnSynonyms(t job.Type) []synonym {
	switch t {
	case job.ImportUser:
		return []synonym{
			{"email", mailColumns}, {"firstName", firstColumns}, {"lastName", lastColumns}, {"id", userColumns}, {"accountId", accounts}, {"dateCreated", created},
			{"locale", "language languagecode sprache langue idioma lingua اللغة"},
			{"countryCode", "country land landercode landescode pays codepays pais codigodepais codigodopais البلد الدولة رمزالبلد"},
			{"imageUrl", "image avatar picture bild photo foto imagen imagem صورة"},
			{"referralCode", "code sharecode empfehlungscode codedeparrainage codigodereferido codigodeindicacao رمزالاحالة رمزالإحالة"},
			{"referredBy.code", "referredby referredbycode referrercode invitecode geworbenvon empfohlenvon parrainepar referidopor indicadopor"},
		}
	case job.ImportDelete:
		return []synonym{{"email", mailColumns}, {"firstName", firstColumns}, {"lastName", lastColumns}, {"id", userColumns}, {"accountId", accounts}}
	case job.ImportUserEvent:
		return []synonym{
			{"userId", userColumns}, {"accountId", accounts}, {"event.fields.currency", currencies}, {"idempotencyKey", keys},
			{"event.key", "event eventkey eventname eventtype ereignis evenement evento الحدث"},
			{"event.dateTriggered", "date datetime time createdat orderedat purchasedat orderdate eventdate timestamp datum zeitpunkt zeitstempel bestelldatum bestelltam kaufdatum gekauftam datedecommande fecha fechadelpedido fechadepedido data datadopedido التاريخ تاريخالطلب"},
			{"event.fields.revenue", "revenue amount total ordertotal price umsatz betrag gesamtbetrag summe preis montant chiffredaffaires prix importe ingresos monto precio receita valor preco المبلغ الإيراد الايراد"},
			{"event.fields.order_id", "orderid ordernumber order bestellnummer bestellnr auftragsnummer numerodecommande numerocommande numerodepedido numerodelpedido numerodopedido pedido رقمالطلب"},
		}
	case job.ImportRedeem:
		return []synonym{
			{"email", mailColumns}, {"firstName", firstColumns}, {"lastName", lastColumns}, {"id", userColumns}, {"accountId", accounts}, {"currency", currencies}, {"idempotencyKey", keys},
			{"unit", "einheit unite unidad unidade الوحدة"},
			{"valueToRedeem", "value amount redeem redeemed betrag wert einzulosen montant valeur importe valor المبلغ القيمة"},
		}
	}
	return nil
}

// means reports whether a canonical name is one of those of a synonym.
func means(names, name string) bool { return slices.Contains(strings.Fields(names), name) }

// canonical returns a name without case, accents, and what people write between words.
func canonical(name string) string {
	name = strings.Map(func(r rune) rune {
		switch r {
		case ' ', '\t', '\u00a0', '_', '-', '.', '\'', '’', '"', '\ufeff':
			return -1
		case 'à', 'á', 'â', 'ã', 'ä', 'å':
			return 'a'
		case 'è', 'é', 'ê', 'ë':
			return 'e'
		case 'ì', 'í', 'î', 'ï':
			return 'i'
		case 'ò', 'ó', 'ô', 'õ', 'ö':
			return 'o'
		case 'ù', 'ú', 'û', 'ü':
			return 'u'
		case 'ç':
			return 'c'
		case 'ñ':
			return 'n'
		}
		if '\u0300' <= r && r <= '\u036f' {
			return -1 // an accent of its own, as names from a Mac may have
		}
		return r
	}, strings.ToLower(name))
	return name
}

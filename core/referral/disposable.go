package referral

import "strings"

// Disposable reports whether an address is at a domain for disposable addresses, or
// at a subdomain of one.
//
// The list has only well-known domains that have been in use for years, because a
// false signal can cost a valid referral its reward. Operators who want all of the
// tens of thousands of domains configure a list of their own; see Evidence.TempEmail.
func Disposable(address string) bool {
	return InDomains(MailDomain(address), func(d string) bool { return strings.Contains(disposable, " "+d+" ") })
}

// MailDomain returns the domain of an address in lower case, or "".
func MailDomain(address string) string {
	_, domain, _ := strings.Cut(mailbox(address), "@")
	return domain
}

// InDomains reports whether a list has a domain or one of its parent domains.
func InDomains(domain string, listed func(domain string) bool) bool {
	for domain != "" {
		if listed(domain) {
			return true
		}
		_, domain, _ = strings.Cut(domain, ".")
	}
	return false
}

// disposable lists the domains, with a blank before and after each.
const disposable = "" +
	" 0-mail.com 0815.ru 10mail.org 10minutemail.co.uk 10minutemail.com 10minutemail.de 10minutemail.net 1secmail.com" +
	" 1secmail.net 1secmail.org 20minutemail.com 20minutemail.it 2prong.com 3d-painting.com 4warding.com 5mail.cf" +
	" 60minutemail.com 9mail.cf anonbox.net anonymbox.com antispam.de armyspy.com binkmail.com bobmail.info bouncr.com" +
	" breakthru.com brefmail.com bsnow.net bugmenot.com bumpymail.com burnermail.io byom.de casualdx.com chacuo.net" +
	" chammy.info cool.fr.nf correo.blogos.net cosmorph.com courriel.fr.nf courrieltemporaire.com cuvox.de dayrep.com" +
	" deadaddress.com despam.it devnullmail.com dingbone.com discard.email discardmail.com discardmail.de" +
	" disposableemailaddresses.com disposableinbox.com dispose.it dispostable.com dodgeit.com dodgit.com dontreg.com" +
	" dontsendmespam.de drdrb.net dropmail.me dump-email.info dumpmail.de dumpyemail.com easytrashmail.com einrot.com" +
	" email60.com emaildrop.io emailfake.com emailias.com emailondeck.com emailsensei.com emailtemporario.com.br" +
	" emailwarden.com emailx.at.hm ephemail.net etranquil.com explodemail.com eyepaste.com fakeinbox.com fakemail.fr" +
	" fakemailgenerator.com fastacura.com filzmail.com fizmail.com fleckens.hu fr33mail.info frapmail.com getairmail.com" +
	" getnada.com getonemail.com girlsundertheinfluence.com gishpuppy.com gowikibooks.com grr.la guerillamail.com" +
	" guerrillamail.biz guerrillamail.com guerrillamail.de guerrillamail.info guerrillamail.net guerrillamail.org" +
	" guerrillamailblock.com gustr.com harakirimail.com hidemail.de hidzz.com hmamail.com hulapla.de ieatspam.eu" +
	" ieatspam.info imails.info inboxalias.com inboxbear.com inboxclean.com inboxkitten.com incognitomail.com" +
	" incognitomail.org inoutmail.de insorg-mail.info instant-mail.de ipoo.org irish2me.com jetable.com jetable.fr.nf" +
	" jetable.net jetable.org jnxjn.com jourrapide.com kasmail.com kaspop.com killmail.com killmail.net klassmaster.com" +
	" klzlk.com kurzepost.de lackmail.net letthemeatspam.com lhsdv.com lifebyfood.com link2mail.net litedrop.com" +
	" lookugly.com lortemail.dk lroid.com luxusmail.org m4ilweb.info maboard.com mail-temp.com mail-temporaire.fr mail.tm" +
	" mail1a.de mail2rss.org mail4trash.com mailbidon.com mailblocks.com mailcatch.com mailde.info maildrop.cc maileater.com" +
	" mailexpire.com mailforspam.com mailfreeonline.com mailguard.me mailimate.com mailin8r.com mailinater.com" +
	" mailinator.com mailinator.net mailinator2.com mailincubator.com mailismagic.com mailme.lv mailmetrash.com mailmoat.com" +
	" mailnator.com mailnesia.com mailnull.com mailpoof.com mailsac.com mailscrap.com mailshell.com mailsiphon.com" +
	" mailslite.com mailtemp.info mailtothis.com mailtrash.net mailzilla.com mailzilla.org makemetheking.com mbx.cc" +
	" mega.zik.dj meinspamschutz.de meltmail.com messagebeamer.de mierdamail.com mintemail.com minuteinbox.com moakt.cc" +
	" moakt.com mohmal.com moncourrier.fr.nf monemail.fr.nf monumentmail.com mt2009.com mt2014.com mvrht.com" +
	" my10minutemail.com mycleaninbox.net mytemp.email mytempemail.com mytrashmail.com nada.email nepwk.com nervmich.net" +
	" nervtmich.net netmails.net nobulk.com noclickemail.com nogmailspam.info nomail.xl.cx nomail2me.com nospam.ze.tc" +
	" nospam4.us nospamfor.us nowmymail.com nurfuerspam.de nwldx.com objectmail.com obobbo.com oneoffemail.com" +
	" onewaymail.com oopi.org ordinaryamerican.net owlpic.com pookmail.com proxymail.eu punkass.com" +
	" putthisinyourspamdatabase.com quickinbox.com rcpt.at recode.me regbypass.com rhyta.com rmqkr.net rppkn.com rtrtr.com" +
	" safersignup.de sharklasers.com shieldemail.com shiftmail.com shitmail.me shortmail.net slopsbox.com smellfear.com" +
	" snakemail.com sofort-mail.de sogetthis.com soodonims.com spam.la spam.su spam4.me spamavert.com spambob.com" +
	" spambob.net spambog.com spambog.de spambog.ru spambox.us spamcero.com spamcorptastic.com spamday.com spamex.com" +
	" spamfree24.com spamfree24.de spamfree24.org spamgourmet.com spamgourmet.net spamherelots.com spamhereplease.com" +
	" spamhole.com spamify.com spaml.com spammotel.com spamobox.com spamspot.com spamthis.co.uk spamtroll.net speed.1s.fr" +
	" supergreatmail.com superrito.com suremail.info tagyourself.com teewars.org teleworm.us temp-mail.io temp-mail.org" +
	" temp-mail.ru tempail.com tempalias.com tempe-mail.com tempemail.biz tempemail.com tempemail.net tempinbox.co.uk" +
	" tempinbox.com tempmail.de tempmail.eu tempmail.it tempmail.net tempmail.plus tempmail2.com tempmailaddress.com" +
	" tempmailer.com tempmailer.de tempomail.fr temporarily.de temporaryemail.net temporaryforwarding.com temporaryinbox.com" +
	" temporarymailaddress.com tempr.email tempthe.net thankyou2010.com thisisnotmyrealemail.com throwawayemailaddress.com" +
	" throwawaymail.com tilien.com tmail.ws tmailinator.com tmpmail.net tmpmail.org toiea.com trash-amil.com trash-mail.at" +
	" trash-mail.com trash-mail.de trash2009.com trashdevil.com trashdevil.de trashemail.de trashmail.at trashmail.com" +
	" trashmail.de trashmail.io trashmail.me trashmail.net trashmail.org trashmail.ws trashmailer.com trashymail.com" +
	" trashymail.net trbvm.com turual.com twinmail.de tyldd.com uggsrock.com upliftnow.com venompen.com veryrealemail.com" +
	" vomoto.com wegwerfadresse.de wegwerfemail.com wegwerfemail.de wegwerfmail.de wegwerfmail.info wegwerfmail.net" +
	" wegwerfmail.org wh4f.org whyspam.me willhackforfood.biz willselfdestruct.com winemaven.info wronghead.com wuzup.net" +
	" xagloo.com xemaps.com xents.com xmaily.com xoxy.net yapped.net yep.it yogamaven.com yopmail.com yopmail.fr yopmail.net" +
	" yuurok.com zehnminutenmail.de zippymail.info zoaxe.com zoemail.org" + " "

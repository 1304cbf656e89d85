/*
 * kith.js: the script of a shop's pages.
 *
 *   <script async src="https://kith.shop.example/kith.js"></script>
 *   <script>
 *     _sqh = window._sqh || [];
 *     _sqh.push(['init', {tenant_alias: 'shop', account_id: 'a', user_id: 'u', email: 'u@x.example', jwt: '…'}]);
 *     _sqh.push(['autofill', '#referral_code']);
 *   </script>
 *
 * What was pushed before the script came is done when it comes; what is pushed
 * later is done at once. Commands:
 *
 *   ['init', {tenant_alias, …}]  names the tenant, and identifies the user when
 *                                account_id and user_id are given too; domain is
 *                                where the service is, when it is not where this
 *                                script came from
 *   ['autofill', selector]       fills the visitor's referral code into the first
 *                                element that the selector finds
 *   ['autofill', function]       calls it with the code, or with ''
 *   ['consent']                  says that the visitor's answer has changed
 *   function                     is called
 *
 * open, close and subscribe, which other scripts of this queue know, do nothing
 * here. A service that does not answer is no error of the page.
 *
 * A page that a share link led to (its URL has rsCode or _saasquatch) is counted,
 * and its code is kept in the first-party cookie _saasquatch, where the tenant's
 * policy and the visitor allow one: the rules are those of core/link.
 */
(function (window, document, navigator) {
  'use strict';

  var queue = window._sqh;
  // A second copy of the script on a page would do everything twice.
  if (queue && queue.kith) return;

  var cookieName = '_saasquatch';
  var day = 864e5;
  var script = document.currentScript;
  var base = script ? new URL(script.src).origin : '';
  var query = new URLSearchParams(location.search);
  /** The options of the last init. */
  var options = {};
  /** The targets of autofills that came before the first init. */
  var waiting = [];
  /** The tenants whose landing was counted. */
  var counted = {};

  /* The cookie's text is base64url of JSON:
     {"<host>": {"<tenant>_CODE": {"codes": {"<program>": "<code>"}, "codesExp": {"<code>": <ms>}}}} */

  function decode(text) {
    try {
      var value = JSON.parse(atob(text.replace(/-/g, '+').replace(/_/g, '/')));
      return isObject(value) ? value : {};
    } catch (e) {
      return {};
    }
  }

  function encode(value) {
    try {
      return btoa(JSON.stringify(value)).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
    } catch (e) {
      return '';
    }
  }

  function isObject(value) {
    return value && typeof value == 'object' && !Array.isArray(value);
  }

  /** b over a, object by object; what is no object is replaced. */
  function merge(a, b) {
    var merged = Object.assign({}, a);
    Object.keys(b).forEach(function (key) {
      if (key != '__proto__') merged[key] = isObject(a[key]) && isObject(b[key]) ? merge(a[key], b[key]) : b[key];
    });
    return merged;
  }

  function readCookie(name) {
    var found = '';
    document.cookie.split(';').forEach(function (pair) {
      var at = pair.indexOf('=');
      if (!found && pair.slice(0, at).trim() == name) found = pair.slice(at + 1).trim().replace(/^"|"$/g, '');
    });
    return found;
  }

  /** Sets the cookie for the widest domain that the browser takes it for, so that the shop's other hosts see it. */
  function writeCookie(text, life) {
    var parts = location.hostname.split('.');
    var rest = '; path=/; SameSite=Lax; max-age=' + life / 1000 + (location.protocol == 'https:' ? '; Secure' : '');
    for (var i = parts.length - 1; i >= 0; i--) {
      document.cookie = cookieName + '=' + text + '; domain=' + parts.slice(i).join('.') + rest;
      if (readCookie(cookieName) == text) return;
    }
    document.cookie = cookieName + '=' + text + rest;
  }

  /** What the page's URL brought for the tenant, as the cookie has it. */
  function brought() {
    var code = query.get('rsCode') || '';
    var text = query.get(cookieName) || '';
    if (text) return text.length < 3000 ? decode(text) : {};
    if (!/^[\w-]{1,64}$/.test(code)) return {};
    var expires = {};
    expires[code] = Date.now() + 30 * day;
    // No program is called rsCode; which one the code is of, the service knows.
    return nest([new URL(base).host, options.tenant_alias + '_CODE'], { codes: { rsCode: code }, codesExp: expires });
  }

  function nest(keys, value) {
    return keys.reduceRight(function (inner, key) {
      var outer = {};
      outer[key] = inner;
      return outer;
    }, value);
  }

  /** The codes that the visitor came with, now and before. */
  function codes() {
    return merge(decode(readCookie(cookieName)), brought());
  }

  /** The first code of the tenant among some, or ''. */
  function codeIn(all) {
    var found = '';
    Object.keys(all).forEach(function (host) {
      var entry = all[host] && all[host][options.tenant_alias + '_CODE'];
      var own = entry && isObject(entry.codes) ? entry.codes : {};
      Object.keys(own).forEach(function (program) {
        if (!found && typeof own[program] == 'string') found = own[program];
      });
    });
    return found;
  }

  function path(root, parts) {
    return base + root + parts.map(encodeURIComponent).join('/');
  }

  /** Resolves to the answer's JSON; rejects when there is none, or an error. */
  function ask(url, request) {
    return fetch(url, Object.assign({ credentials: 'include' }, request)).then(function (answer) {
      return answer.ok ? answer.json() : Promise.reject(answer.status);
    });
  }

  /** A service that is down is no news to a page; a call that can never succeed is news to who builds it. */
  function failed(reason) {
    if (reason >= 400 && reason < 500) console.warn('kith.js: a call was refused with status ' + reason);
  }

  /* Consent. A browser's own signal weighs more than any banner; an unknown
     answer to an opt-in, and a policy that cannot be asked for, are a no. */

  function refused() {
    return navigator.globalPrivacyControl || navigator.doNotTrack == '1';
  }

  function remember() {
    var fresh = brought();
    if (refused()) return;
    ask(path('/a/', [options.tenant_alias, 'consent'])).then(function (policy) {
      var answer = policy.consentCookie ? readCookie(policy.consentCookie).toLowerCase() : '';
      var granted = /^(1|true|yes|granted|allow|accepted)$/.test(answer);
      var denied = /^(0|false|no|denied|deny|rejected)$/.test(answer);
      if (policy.consent != 'off' && denied) {
        if (readCookie(cookieName)) writeCookie('', 0);
      } else if (policy.consent != 'opt-in' || granted) {
        var text = encode(codes());
        if (text.length > 3500) text = encode(fresh);
        if (Object.keys(fresh).length && text) writeCookie(text, 365 * day);
      }
    }).catch(failed);
  }

  /** Counts a page that a share link led to: no cookie and no name goes along that is not there already. */
  function count() {
    var tenant = options.tenant_alias;
    // The edge in front of a shop takes rsCode out of the URL.
    var code = query.get('rsCode') || codeIn(brought());
    if (counted[tenant] || !code || refused()) return;
    counted[tenant] = true;
    var about = new URLSearchParams({ rsCode: code });
    ['rsShareMedium', 'rsEngagementMedium'].forEach(function (name) {
      if (query.get(name)) about.set(name, query.get(name));
    });
    try {
      navigator.sendBeacon(path('/a/', [tenant, 'visit']) + '?' + about);
    } catch (e) { /* an old browser, or a policy of the page */ }
  }

  /** What init may say of the user; the rest of it is for this script. */
  var told = ['account_id', 'payment_provider_id', 'user_id', 'email', 'first_name', 'last_name', 'user_image',
    'referral_code', 'user_referral_code', 'account_status', 'locale', 'checksum'];

  function identify() {
    var headers = { 'Content-Type': 'application/json' };
    if (options.jwt) headers['X-SaaSquatch-User-Token'] = options.jwt;
    var body = {};
    told.forEach(function (key) {
      if (options[key] != null) body[key] = options[key];
    });
    var text = encode(codes());
    if (text && text != 'e30') body.cookies = text; // e30 is {}
    ask(path('/api/v1/', [options.tenant_alias, 'open', 'account', options.account_id, 'user', options.user_id]),
      { method: 'PUT', headers: headers, body: JSON.stringify(body) }).catch(failed);
  }

  /** Calls then when the page is seen by somebody: a prerendered one may never be. */
  function whenSeen(then) {
    if (document.prerendering) document.addEventListener('prerenderingchange', then, { once: true }); else then();
  }

  function whenParsed(then) {
    if (document.readyState == 'loading') document.addEventListener('DOMContentLoaded', then); else then();
  }

  var commands = {
    init: function (given) {
      options = Object.assign({}, given);
      base = (options.domain || base).replace(/\/$/, '');
      if (!options.tenant_alias || !base) return;
      waiting.splice(0).forEach(commands.autofill);
      whenSeen(function () {
        count();
        if (Object.keys(brought()).length) remember();
        if (options.account_id && options.user_id) identify();
      });
    },
    autofill: function (target) {
      if (!options.tenant_alias || !base) {
        waiting.push(target);
        return;
      }
      function fill(code) {
        if (typeof target == 'function') return target(code);
        whenParsed(function () {
          var input = document.querySelector(target);
          if (!input || !code) return;
          input.value = code;
          input.dispatchEvent(new Event('input', { bubbles: true }));
        });
      }
      var text = encode(codes());
      ask(path('/a/', [options.tenant_alias, 'widgets', 'squatchcookiejson']) + '?cookies=' + encodeURIComponent(text))
        .then(function (answer) { return answer.code; }, function () { return codeIn(codes()); }).then(fill);
    },
    consent: function () {
      if (options.tenant_alias && base) remember();
    }
  };

  function push() {
    [].forEach.call(arguments, function (item) {
      // What a page's own function throws is the page's to see, and ends nothing else.
      try {
        if (typeof item == 'function') item();
        else if (Array.isArray(item) && commands.hasOwnProperty(item[0])) commands[item[0]].apply(null, item.slice(1));
      } catch (e) {
        setTimeout(function () { throw e; });
      }
    });
  }

  window._sqh = { push: push, kith: true };
  if (Array.isArray(queue)) queue.forEach(function (item) { push(item); });
})(window, document, navigator);

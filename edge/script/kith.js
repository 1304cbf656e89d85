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
 * Commands that were pushed before the script was loaded run when it is loaded;
 * later ones run immediately. Commands:
 *
 *   ['init', {tenant_alias, …}]  sets the tenant, and identifies the user if
 *                                account_id and user_id are given; domain is the
 *                                URL of the service, by default the origin of
 *                                this script
 *   ['autofill', selector]       fills the visitor's referral code into the first
 *                                element that matches the selector. It waits 10 s
 *                                for an element that is not there yet. An element
 *                                that has a value, or into which the visitor
 *                                typed, stays as it is
 *   ['autofill', function]       calls the function with the code, or with ''
 *   ['stripe', selector]         adds the visitor's referral code, by the rules of
 *                                autofill, to Stripe's pricing tables and payment
 *                                links, also to those that appear later, as the
 *                                client reference id. One that has another stays
 *                                as it is. The selector names links on a domain of
 *                                the shop's own; without it, the links are those
 *                                to buy.stripe.com
 *   ['consent']                  reads the visitor's consent cookie again, after
 *                                it has changed
 *   function                     calls the function
 *
 * autofill gives only a code that the service knows, so it gives no code while the
 * service cannot be reached. The page gets no error then. open, close and subscribe,
 * which other scripts for this queue support, are ignored.
 *
 * In a sandboxed frame without allow-same-origin, which has no cookies and whose
 * calls browsers refuse, the script makes no calls; autofill gives no code.
 *
 * A page that was opened through a share link (its URL has rsCode or _saasquatch)
 * is counted, and its code is stored in the first-party cookie _saasquatch, if the
 * tenant's policy and the visitor permit a cookie. The rules are those of
 * core/link.
 */
(function (window, document, navigator) {
  'use strict';

  var queue = window._sqh;
  // Ignore a second copy of the script on a page.
  if (queue && queue.kith) return;

  var cookieName = '_saasquatch';
  var day = 864e5;
  var script = document.currentScript;
  var base = script && script.src ? new URL(script.src).origin : '';
  var query = new URLSearchParams(location.search);
  /** The options of the last init. */
  var options = {};
  /** The targets of autofill commands before the first init. */
  var waiting = [];
  /** The tenants for which this page was counted. */
  var counted = {};
  /** Whether this is a sandboxed frame: its cookies throw, and its calls would be errors in the console. */
  var sandboxed = window.origin == 'null';
  /** The elements into which the visitor typed, also those that were emptied again. */
  var typed = new WeakSet();

  /* The value of the cookie is base64url of JSON:
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

  /** Merges b into a copy of a; other values than objects are replaced. */
  function merge(a, b) {
    var merged = Object.assign({}, a);
    Object.keys(b).forEach(function (key) {
      if (key != '__proto__') merged[key] = isObject(a[key]) && isObject(b[key]) ? merge(a[key], b[key]) : b[key];
    });
    return merged;
  }

  function readCookie(name) {
    var found = '';
    if (sandboxed) return found;
    document.cookie.split(';').forEach(function (pair) {
      var at = pair.indexOf('=');
      if (!found && pair.slice(0, at).trim() == name) found = pair.slice(at + 1).trim().replace(/^"|"$/g, '');
    });
    return found;
  }

  /** Sets the cookie for the widest domain that the browser accepts, so that the shop's other hosts get it. life is in milliseconds. */
  function writeCookie(text, life) {
    var parts = location.hostname.split('.');
    var rest = '; path=/; SameSite=Lax; max-age=' + life / 1000 + (location.protocol == 'https:' ? '; Secure' : '');
    for (var i = parts.length - 1; i >= 0; i--) {
      document.cookie = cookieName + '=' + text + '; domain=' + parts.slice(i).join('.') + rest;
      if (readCookie(cookieName) == text) return;
    }
    document.cookie = cookieName + '=' + text + rest;
  }

  /** The page's rsCode, or '' if it is not a valid code. */
  function urlCode() {
    var code = query.get('rsCode') || '';
    return /^[\w-]{1,64}$/.test(code) ? code : '';
  }

  /** The tenant's codes in the page's URL, in the form of the cookie, with the time for which an rsCode counts. */
  function urlCodes(life) {
    var code = urlCode();
    var text = query.get(cookieName) || '';
    if (text) return text.length < 3000 ? decode(text) : {};
    if (!code) return {};
    var expires = {};
    expires[code] = Date.now() + (life || 30 * day);
    // The key rsCode stands for the code's program, which only the service knows.
    return nest([new URL(base).host, options.tenant_alias + '_CODE'], { codes: { rsCode: code }, codesExp: expires });
  }

  function nest(keys, value) {
    return keys.reduceRight(function (inner, key) {
      var outer = {};
      outer[key] = inner;
      return outer;
    }, value);
  }

  /** The codes in the cookie, if it counts, and in the page's URL. */
  function codes() {
    return merge(refused() ? {} : decode(readCookie(cookieName)), urlCodes());
  }

  /** The first code of the tenant in all, or ''. */
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

  /** Resolves to the JSON of the response; rejects with the status of an error, or if there is no response. */
  function call(url, request) {
    if (sandboxed) return Promise.reject();
    return fetch(url, Object.assign({ credentials: 'include' }, request)).then(function (response) {
      return response.ok ? response.json() : Promise.reject(response.status);
    });
  }

  /** Warns the page's developer about a call that was refused. Other errors are ignored. */
  function failed(reason) {
    if (reason >= 400 && reason < 500) console.warn('kith.js: a call was refused with status ' + reason);
  }

  /* Consent. A signal of the browser overrides the banner. With opt-in, no cookie
     is set for an unknown value, nor if the policy cannot be read. A cookie of a
     visitor who refused is deleted. */

  function refused() {
    return navigator.globalPrivacyControl || navigator.doNotTrack == '1';
  }

  function forget() {
    if (readCookie(cookieName)) writeCookie('', 0);
  }

  function remember() {
    if (refused()) return forget();
    call(path('/a/', [options.tenant_alias, 'consent'])).then(function (policy) {
      var choice = policy.consentCookie ? readCookie(policy.consentCookie).toLowerCase() : '';
      var granted = /^(1|true|yes|granted|allow|accepted)$/.test(choice);
      var denied = /^(0|false|no|denied|deny|rejected)$/.test(choice);
      if (policy.consent != 'off' && denied) {
        forget();
      } else if (policy.consent != 'opt-in' || granted) {
        var fresh = urlCodes(policy.cookieLife);
        var text = encode(merge(decode(readCookie(cookieName)), fresh));
        if (text.length > 3500) text = encode(fresh);
        if (Object.keys(fresh).length && text) writeCookie(text, 365 * day);
      }
    }).catch(failed);
  }

  /** Counts a page that was opened through a share link, without identifying the visitor. */
  function count() {
    var tenant = options.tenant_alias;
    // An edge in front of the shop removes rsCode from the URL.
    var code = query.get('rsCode') || codeIn(urlCodes());
    if (counted[tenant] || !code || sandboxed || refused()) return;
    counted[tenant] = true;
    var about = new URLSearchParams({ rsCode: code });
    ['rsShareMedium', 'rsEngagementMedium'].forEach(function (name) {
      if (query.get(name)) about.set(name, query.get(name));
    });
    try {
      navigator.sendBeacon(path('/a/', [tenant, 'visit']) + '?' + about);
    } catch (e) { /* not supported by the browser, or forbidden by the page's policy */ }
  }

  /** The options of init that are sent to the service. */
  var userKeys = ['account_id', 'payment_provider_id', 'user_id', 'email', 'first_name', 'last_name', 'user_image',
    'referral_code', 'user_referral_code', 'account_status', 'locale', 'checksum'];

  function identify() {
    var headers = { 'Content-Type': 'application/json' };
    if (options.jwt) headers['X-SaaSquatch-User-Token'] = options.jwt;
    var body = {};
    userKeys.forEach(function (key) {
      if (options[key] != null) body[key] = options[key];
    });
    var text = encode(codes());
    if (text && text != 'e30') body.cookies = text; // e30 is {}
    call(path('/api/v1/', [options.tenant_alias, 'open', 'account', options.account_id, 'user', options.user_id]),
      { method: 'PUT', headers: headers, body: JSON.stringify(body) }).catch(failed);
  }

  /** Calls then when the page is shown. A prerendered page may never be shown. */
  function whenSeen(then) {
    if (document.prerendering) document.addEventListener('prerenderingchange', then, { once: true }); else then();
  }

  function whenParsed(then) {
    if (document.readyState == 'loading') document.addEventListener('DOMContentLoaded', then); else then();
  }

  /** The code if it exists, else a rejection. */
  function known(code) {
    return code && call(path('/api/v1/', [options.tenant_alias, 'open', 'code', code])).then(function () { return code; });
  }

  /** Sets a value as typing does. React hides the value property of its inputs behind one of its own, and ignores a value that was set through that. */
  function setValue(input, value) {
    var owner = input, property;
    while (!property && (owner = Object.getPrototypeOf(owner))) property = Object.getOwnPropertyDescriptor(owner, 'value');
    if (property && property.set) property.set.call(input, value); else input.value = value;
    input.dispatchEvent(new Event('input', { bubbles: true }));
  }

  /** Fills the code into the first element that matches the selector, when there is one; gives up 10 s after the page was parsed. */
  function fillFirst(selector, code) {
    function filled() {
      var input = document.querySelector(selector);
      if (input && !input.value && !typed.has(input)) setValue(input, code);
      return input;
    }
    whenParsed(function () {
      if (filled()) return;
      var observer = new MutationObserver(function () { if (filled()) observer.disconnect(); });
      observer.observe(document, { childList: true, subtree: true });
      setTimeout(function () { observer.disconnect(); }, 1e4);
    });
  }

  var commands = {
    init: function (given) {
      options = Object.assign({}, given);
      base = (options.domain || base).replace(/\/$/, '');
      if (!options.tenant_alias || !base) return;
      waiting.splice(0).forEach(commands.autofill);
      whenSeen(function () {
        count();
        if (refused() || Object.keys(urlCodes()).length) remember();
        if (options.account_id && options.user_id) identify();
      });
    },
    autofill: function (target) {
      if (!options.tenant_alias || !base) {
        waiting.push(target);
        return;
      }
      // The service answers only codes that exist; without its answer, autofill gives no code.
      // For a visitor who refused it has none: then the code of the page's URL, which is not stored, counts.
      call(path('/a/', [options.tenant_alias, 'widgets', 'squatchcookiejson']) + '?cookies=' + encodeURIComponent(encode(codes())))
        .then(function (response) { return response.code || refused() && known(urlCode()) || ''; })
        .catch(function () { return ''; })
        .then(function (code) { if (typeof target == 'function') target(code); else if (code) fillFirst(target, code); });
    },
    stripe: function (links) {
      commands.autofill(function (code) {
        if (!code) return;
        function refer() {
          document.querySelectorAll('stripe-pricing-table:not([client-reference-id])').forEach(function (table) {
            table.setAttribute('client-reference-id', code);
            // A table that was shown before reads the attribute when it is inserted again.
            table.parentNode.insertBefore(table, table.nextSibling);
          });
          document.querySelectorAll(links || 'a[href^="https://buy.stripe.com/"]').forEach(function (link) {
            var url = link.href && new URL(link.href);
            if (!url || url.searchParams.has('client_reference_id')) return;
            url.searchParams.set('client_reference_id', code);
            link.href = url;
          });
        }
        new MutationObserver(refer).observe(document, { childList: true, subtree: true, attributes: true, attributeFilter: ['href'] });
        refer();
      });
    },
    consent: function () {
      if (options.tenant_alias && base) remember();
    }
  };

  function push() {
    [].forEach.call(arguments, function (item) {
      // An error of the page's own function is reported to the page and does not stop other commands.
      try {
        if (typeof item == 'function') item();
        else if (Array.isArray(item) && commands.hasOwnProperty(item[0])) commands[item[0]].apply(null, item.slice(1));
      } catch (e) {
        setTimeout(function () { throw e; });
      }
    });
  }

  document.addEventListener('input', function (event) {
    if (event.isTrusted) typed.add(event.target);
  }, true);

  window._sqh = { push: push, kith: true };
  if (Array.isArray(queue)) queue.forEach(function (item) { push(item); });
})(window, document, navigator);

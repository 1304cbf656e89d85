// Keeps what a person typed into a form and has not saved, in the tab: it is there again after
// a sign-in, a reload, or a way back. Passwords and files are not kept.
(function () {
  "use strict";
  var store;
  try {
    store = sessionStorage;
    store.length; // a browser that keeps nothing throws here or above
  } catch (e) {
    return;
  }
  var prefix = "kith-draft:", sent = "kith-sent", owner = "kith-person";

  function forget() {
    Object.keys(store).forEach(function (key) { if (key.startsWith(prefix)) store.removeItem(key); });
  }
  // A field of the form may be named action.
  function actionOf(form) { return new URL(form.getAttribute("action") || "", location.href).pathname; }
  function keyOf(form) { return prefix + actionOf(form); }
  function fields(form) {
    return Array.from(form.elements).filter(function (field) {
      return field.name && field.name !== "next" && !["hidden", "password", "file", "submit", "button"].includes(field.type) && field.tagName !== "FIELDSET" && !field.readOnly;
    });
  }
  function ticks(field) { return field.type === "checkbox" || field.type === "radio"; }
  function valuesOf(form) {
    return JSON.stringify(fields(form).map(function (field) { return [field.name, ticks(field) ? [field.value, field.checked] : field.value]; }));
  }
  // What the server sent: after a way back the browser may have put in what was typed.
  function firstOf(form) {
    return JSON.stringify(fields(form).map(function (field) {
      if (ticks(field)) return [field.name, [field.value, field.defaultChecked]];
      if (!field.options) return [field.name, field.defaultValue];
      return [field.name, (Array.from(field.options).find(function (o) { return o.defaultSelected; }) || field.options[0] || field).value];
    }));
  }
  // What was typed is put back by name and place, as a form may have got further fields.
  function put(form, values) {
    var byName = {};
    values.forEach(function (one) { (byName[one[0]] = byName[one[0]] || []).push(one[1]); });
    fields(form).forEach(function (field) {
      var all = byName[field.name] || [], value = ticks(field) ? all.find(function (v) { return v[0] === field.value; }) : all.shift();
      if (value === undefined || (ticks(field) ? field.checked === value[1] : field.value === value)) return;
      if (ticks(field)) field.checked = value[1];
      else field.value = value;
      field.dispatchEvent(new Event("input", { bubbles: true }));
      field.dispatchEvent(new Event("change", { bubbles: true }));
    });
  }

  // Drafts of a person are not those of the next one in this tab.
  var person = document.body.dataset.person;
  if (person) {
    if (store.getItem(owner) !== person) forget();
    store.setItem(owner, person);
  }
  // The form that was sent last is saved, unless this page has an error or is that of the sign-in.
  var last = store.getItem(sent);
  store.removeItem(sent);
  if (last && person && !document.querySelector("[data-focus], [data-problem]")) store.removeItem(last);

  var open = new Map(); // the forms with what they had at first
  var leaving = false;
  function unsaved() {
    return Array.from(open).some(function (one) { return one[0].isConnected && valuesOf(one[0]) !== one[1]; });
  }
  function keep(form) {
    if (!open.has(form)) return;
    var now = valuesOf(form);
    if (now === open.get(form)) store.removeItem(keyOf(form));
    else {
      try {
        store.setItem(keyOf(form), now);
      } catch (e) { /* the tab is full; the warning stays */ }
    }
  }
  function restore(form) {
    var draft = store.getItem(keyOf(form)), first = open.get(form);
    if (draft) put(form, JSON.parse(draft));
    if (valuesOf(form) === first) return;
    var note = document.createElement("p"), button = document.createElement("button");
    note.className = "draft";
    note.setAttribute("role", "status");
    note.textContent = "What you typed here before is back, and not saved yet. ";
    button.type = "button";
    button.className = "link";
    button.textContent = "Discard it";
    button.addEventListener("click", function () {
      put(form, JSON.parse(first));
      store.removeItem(keyOf(form));
      note.remove();
    });
    note.append(button);
    form.prepend(note);
  }

  document.querySelectorAll("form[method=post]").forEach(function (form) {
    if (!person || form.querySelector("input[type=password], input[type=file]") || !fields(form).length) return;
    open.set(form, firstOf(form));
    restore(form);
  });
  ["input", "change"].forEach(function (name) {
    document.addEventListener(name, function (event) { if (event.target.form) keep(event.target.form); });
  });
  document.addEventListener("submit", function (event) {
    var out = actionOf(event.target) === "/portal/signout";
    if (event.defaultPrevented || !out && !open.has(event.target)) return;
    leaving = true;
    if (out) forget();
    else if (!event.submitter || !event.submitter.hasAttribute("formaction")) store.setItem(sent, keyOf(event.target));
  });
  // A page that the browser shows again after a way back is no longer left.
  addEventListener("pageshow", function () { leaving = false; });
  addEventListener("beforeunload", function (event) {
    if (!leaving && unsaved()) event.preventDefault();
  });

  // A part of the page that needs a sign-in does not take the form away.
  document.addEventListener("htmx:beforeOnLoad", function (event) {
    var to = event.detail.xhr.getResponseHeader("HX-Redirect");
    if (!to || event.detail.xhr.status !== 401 || !unsaved()) return;
    event.preventDefault();
    var line = document.querySelector(".trouble"), link = document.createElement("a");
    link.href = to;
    link.textContent = "Sign in again";
    link.addEventListener("click", function () { leaving = true; });
    line.replaceChildren("Your session has ended. ", link, ": what you typed here stays.");
    line.hidden = false;
  });
})();

// Keeps what a person typed into a form and has not saved, in the tab: it is there again after
// a sign-in, a reload, or a way back. Passwords and files are not kept.
(function () {
  "use strict";
  var store, shared;
  try {
    store = sessionStorage;
    shared = localStorage;
    store.length; // a browser that keeps nothing throws here or above
  } catch (e) {
    return;
  }
  var prefix = "kith-draft:", sent = "kith-sent", owner = "kith-person", signedOut = "kith-signed-out";

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
  function valueOf(field) { return ticks(field) ? field.checked : field.value; }
  // What the server sent: after a way back the browser may have put in what was typed.
  function firstOf(field) {
    if (ticks(field)) return field.defaultChecked;
    if (!field.options) {
      var alike = field.cloneNode(); // the browser shows some values in another form, such as without line ends
      alike.value = field.defaultValue;
      return alike.value;
    }
    return (Array.from(field.options).find(function (o) { return o.defaultSelected; }) || field.options[0] || field).value;
  }
  // A page with errors has what was refused in its fields: what they were before is in the draft.
  var failed = document.querySelector("[data-focus]") !== null;
  // Such a page is the answer to a form. A way back asks for its address, which leads to the form
  // and the draft; the browser would ask whether to send the form again.
  if (failed) history.replaceState(history.state, "", location.href);
  function draftOf(form) { return JSON.parse(store.getItem(keyOf(form)) || "[]"); }
  // The fields of a form: the name, which of those with this name, what it was before, and what
  // it is now.
  function states(form) {
    var seen = {}, draft = failed ? draftOf(form) : [];
    return fields(form).map(function (field) {
      var name = field.name + (ticks(field) ? "=" + field.value : "");
      var nth = seen[name] = (seen[name] || 0) + 1;
      var before = draft.find(function (d) { return d[0] === name && d[1] === nth; });
      return { name: name, nth: nth, first: before ? before[2] : firstOf(field), now: valueOf(field), field: field };
    });
  }
  function changed(form) { return states(form).filter(function (one) { return one.first !== one.now; }); }
  function set(field, value) {
    if (valueOf(field) === value) return;
    if (ticks(field)) field.checked = value;
    else field.value = value;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    field.dispatchEvent(new Event("change", { bubbles: true }));
  }

  // Drafts of a person are not those of the next one in this tab.
  var person = document.body.dataset.person;
  if (person) {
    if (store.getItem(owner) !== person) forget();
    store.setItem(owner, person);
  }
  // A sign-out in any tab removes the drafts of all: at once, or when the tab is used again.
  var out = shared.getItem(signedOut) || "";
  if ((store.getItem(signedOut) || "") !== out) forget();
  store.setItem(signedOut, out);
  addEventListener("storage", function (event) {
    if (event.key !== signedOut) return;
    over = true;
    forget();
  });
  var flash = document.querySelector("[data-flash] p");
  if (flash && flash.textContent.includes("it was not done") && Object.keys(store).some(function (key) { return key.startsWith(prefix); })) flash.append(" This tab has kept what you typed.");
  // The form that was sent last is saved, unless this page has an error or is that of the sign-in.
  var last = store.getItem(sent);
  store.removeItem(sent);
  if (last && person && !document.querySelector("[data-focus], [data-problem]")) store.removeItem(last);

  var open = new Set(); // the forms that are kept
  var over = false; // the person has signed out in another tab
  var leaving = false;
  function unsaved() {
    return !over && Array.from(open).some(function (form) { return form.isConnected && changed(form).length > 0; });
  }
  function keep(form) {
    if (over || !open.has(form)) return;
    var typed = changed(form).map(function (one) { return [one.name, one.nth, one.first, one.now]; });
    try {
      if (typed.length) store.setItem(keyOf(form), JSON.stringify(typed));
      else store.removeItem(keyOf(form));
    } catch (e) { /* the tab is full; the warning stays */ }
  }
  // Only what the person has changed is put back: the rest is as it is now.
  function restore(form) {
    var meanwhile = false, draft = draftOf(form);
    states(form).forEach(function (one) {
      var typed = draft.find(function (d) { return d[0] === one.name && d[1] === one.nth; });
      if (!typed || failed) return;
      meanwhile = meanwhile || typed[2] !== one.first && typed[3] !== one.first;
      set(one.field, typed[3]);
    });
    if (failed || !changed(form).length) return;
    var note = document.createElement("p"), button = document.createElement("button");
    note.className = "draft";
    note.setAttribute("role", "status");
    note.textContent = "What you typed here before is back, and not saved yet. " +
      (meanwhile ? "What it replaces was changed meanwhile: compare before you save. " : "");
    button.type = "button";
    button.className = "link";
    button.textContent = "Discard it";
    button.addEventListener("click", function () {
      changed(form).forEach(function (one) { set(one.field, one.first); });
      store.removeItem(keyOf(form));
      note.remove();
    });
    note.append(button);
    form.prepend(note);
  }

  document.querySelectorAll("form[method=post]").forEach(function (form) {
    if (!person || form.querySelector("input[type=password], input[type=file]") || !fields(form).length) return;
    open.add(form);
    restore(form);
  });
  ["input", "change"].forEach(function (name) {
    document.addEventListener(name, function (event) { if (event.target.form) keep(event.target.form); });
  });
  document.addEventListener("submit", function (event) {
    var leaves = actionOf(event.target) === "/portal/signout";
    if (event.defaultPrevented || !leaves && !open.has(event.target)) return;
    leaving = true;
    if (leaves) {
      forget();
      shared.setItem(signedOut, String(Date.now()));
    } else if (!event.submitter || !event.submitter.hasAttribute("formaction")) store.setItem(sent, keyOf(event.target));
  });
  // A page that the browser shows again after a way back is no longer left.
  addEventListener("pageshow", function () { leaving = false; });
  addEventListener("beforeunload", function (event) {
    if (!leaving && unsaved()) event.preventDefault();
  });

  // A part of the page that needs a sign-in does not take the form away.
  document.addEventListener("htmx:beforeOnLoad", function (event) {
    var to = event.detail.xhr.getResponseHeader("HX-Redirect");
    if (!to || event.detail.xhr.status !== 401 || !leaving && !unsaved()) return;
    event.preventDefault();
    if (leaving) return; // the answer to the form comes, and says what became of it
    var line = document.querySelector(".trouble"), link = document.createElement("a");
    link.href = to;
    link.textContent = "Sign in again";
    link.addEventListener("click", function () { leaving = true; });
    line.replaceChildren("Your session has ended. ", link, ": what you typed here stays.");
    line.hidden = false;
  });
})();

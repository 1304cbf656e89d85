// Adds to pages that work without it: times in the tenant's zone, copying, the theme, and
// the keyboard. It changes the page only through the DOM, as the policy of the page demands.
(function () {
  "use strict";
  var root = document.documentElement;

  // Times are in the tenant's zone, or else in the visitor's. Without scripts they are shown in UTC.
  var own = Intl.DateTimeFormat().resolvedOptions().timeZone, zone = root.dataset.zone || own;
  try {
    new Intl.DateTimeFormat(undefined, { timeZone: zone });
  } catch (e) {
    zone = own; // the browser does not know it
  }
  var styles = {
    date: { dateStyle: "medium", timeZone: zone, numberingSystem: "latn" },
    minute: { dateStyle: "medium", timeStyle: "short", timeZone: zone, numberingSystem: "latn" },
    second: { dateStyle: "medium", timeStyle: "medium", timeZone: zone, numberingSystem: "latn" },
    day: { dateStyle: "medium", timeZone: "UTC", numberingSystem: "latn" },
  };
  function ago(then) {
    var seconds = Math.round((then - Date.now()) / 1000);
    var steps = [["day", 86400], ["hour", 3600], ["minute", 60]];
    var format = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", numberingSystem: "latn" });
    for (var i = 0; i < steps.length; i++) {
      if (Math.abs(seconds) >= steps[i][1]) return format.format(Math.trunc(seconds / steps[i][1]), steps[i][0]);
    }
    return format.format(seconds, "second");
  }
  function local(within) {
    within.querySelectorAll("time[data-time]").forEach(function (element) {
      var then = new Date(element.dateTime);
      var style = element.dataset.time;
      if (style === "ago") {
        element.textContent = ago(then);
      } else {
        element.textContent = new Intl.DateTimeFormat(undefined, styles[style] || styles.minute).format(then);
      }
      if (style !== "day") element.title = zone === own ? then.toISOString()
        : then.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "long" }) + " (" + then.toISOString() + ")";
    });
  }

  // Numbers and amounts as the visitor's language has them, with the digits of the English text.
  function numbers(within) {
    within.querySelectorAll("data[value]").forEach(function (element) {
      var value = Number(element.value), currency = element.dataset.currency;
      element.textContent = currency
        ? new Intl.NumberFormat(undefined, { style: "currency", currency: currency, numberingSystem: "latn" }).format(value)
        : new Intl.NumberFormat(undefined, { numberingSystem: "latn" }).format(value);
    });
  }

  // The filter of a list counts days in the zone of its times. A person chooses a zone from
  // those that the browser knows.
  function zones(within) {
    within.querySelectorAll("input[data-zone]").forEach(function (input) {
      if (!input.value) input.value = zone || "";
    });
    within.querySelectorAll("datalist[data-zones]").forEach(function (list) {
      Intl.supportedValuesOf("timeZone").forEach(function (name) { list.append(new Option(name)); });
      document.getElementById(list.dataset.zones).setAttribute("list", list.id);
    });
  }

  // A link that a person sends to another one has the origin that this browser uses.
  function links(within) {
    within.querySelectorAll("input[data-link]").forEach(function (input) {
      input.value = new URL(input.value, location.href).href;
      var button = input.parentElement.querySelector("[data-copy]");
      if (button) button.dataset.copy = input.value;
    });
  }

  // What a new password lacks, and how hard it is to guess from its length, of 4. The server
  // decides (people.CheckPassword).
  function strength(text) {
    var size = Array.from(text.trim().replace(/\s+/g, " ")).length;
    if (size < 12) return [size ? 1 : 0, size ? (12 - size) + (size === 11 ? " more character" : " more characters") : ""];
    if (new Set(text.toLowerCase()).size < 5) return [1, "Use more different characters"];
    if (size < 16) return [2, "Long enough, unless others use it too. One more word makes it much harder to guess"];
    return size < 20 ? [3, "Hard to guess"] : [4, "Very hard to guess"];
  }

  // A password can be shown, and a new one has a meter.
  function passwords(within) {
    within.querySelectorAll("input[type=password]:not([data-judged])").forEach(function (input) {
      input.dataset.judged = "";
      var show = document.createElement("button");
      show.type = "button";
      show.className = "link";
      show.textContent = "Show";
      show.addEventListener("click", function () {
        var hidden = input.type === "password";
        input.type = hidden ? "text" : "password";
        show.textContent = hidden ? "Hide" : "Show";
      });
      input.after(show);
      if (input.form) input.form.addEventListener("submit", function () { input.type = "password"; });
      if (input.autocomplete !== "new-password") return;
      var line = document.createElement("p"), meter = document.createElement("meter"), text = document.createElement("span");
      line.className = "strength";
      meter.max = 4;
      meter.low = 2;
      meter.high = 3;
      meter.optimum = 4;
      meter.setAttribute("aria-hidden", "true");
      text.setAttribute("role", "status");
      line.append(meter, " ", text);
      show.after(line);
      function judge() {
        var judged = strength(input.value);
        line.hidden = !judged[0];
        meter.value = judged[0];
        text.textContent = judged[1];
      }
      input.addEventListener("input", judge);
      judge();
    });
  }

  function prepare(within) {
    passwords(within);
    links(within);
    local(within);
    numbers(within);
    zones(within);
  }

  function announce(button, text) {
    var before = button.textContent;
    button.textContent = text;
    button.setAttribute("aria-live", "polite");
    setTimeout(function () { button.textContent = before; }, 2000);
  }

  function open(id) {
    var dialog = document.getElementById(id);
    if (!dialog || dialog.open) return;
    dialog.showModal();
    var filter = dialog.querySelector("[data-filter]");
    if (filter) {
      filter.value = "";
      narrow(filter);
      filter.focus();
    }
  }

  // The palette shows the links whose text has all words of the filter, then the look-ups.
  function narrow(filter) {
    var words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    var list = document.getElementById(filter.dataset.filter);
    var first = null;
    list.querySelectorAll("li").forEach(function (item) {
      var text = item.textContent.toLowerCase(), link = item.firstElementChild;
      if (link.dataset.find !== undefined) {
        // A look-up of what was typed: its page finds it when the link is followed.
        link.querySelector("span").textContent = filter.value.trim();
        link.search = link.search.replace(/=.*/, "=" + encodeURIComponent(filter.value.trim()));
        item.hidden = words.length === 0;
      } else if (item.dataset.found === undefined) {
        item.hidden = !words.length && item.dataset.typed !== undefined || !words.every(function (word) { return text.includes(word); });
      }
      link.classList.remove("first");
      if (!item.hidden && !first) first = link;
    });
    if (first) first.classList.add("first");
    var none = list.parentElement.querySelector(".none");
    if (none) none.hidden = first !== null;
    return first;
  }

  // The palette also has the first 5 people whom the search finds for what was typed.
  var typing = 0;
  function people(filter) {
    var list = document.getElementById(filter.dataset.filter), text = filter.value.trim();
    var search = list.querySelector('[data-find][href*="/people?"]');
    list.querySelectorAll("[data-found]").forEach(function (item) { item.remove(); });
    clearTimeout(typing);
    if (!search || text.length < 3) return;
    typing = setTimeout(function () {
      fetch(search.href).then(function (answer) { return answer.text(); }).then(function (page) {
        if (filter.value.trim() !== text) return;
        var found = new DOMParser().parseFromString(page, "text/html").querySelectorAll('#list a[href*="/people/"]');
        Array.from(found).slice(0, 5).forEach(function (person) {
          var item = document.createElement("li"), link = document.createElement("a");
          item.dataset.found = "";
          link.href = person.getAttribute("href");
          var mail = person.parentElement.querySelector(".below");
          link.textContent = person.textContent + (mail ? ", " + mail.textContent : "");
          item.append(link);
          list.insertBefore(item, list.querySelector("[data-find]").parentElement);
        });
        narrow(filter);
      }, function () { /* the look-up remains */ });
    }, 300);
  }

  document.addEventListener("input", function (event) {
    if (!event.target.matches("[data-filter]")) return;
    narrow(event.target);
    people(event.target);
  });

  document.addEventListener("click", function (event) {
    var target = event.target;
    var button = target.closest("button, summary, [data-select]");
    // A menu closes when something else is clicked.
    document.querySelectorAll("details[data-menu][open]").forEach(function (menu) {
      if (!menu.contains(target)) menu.open = false;
    });
    if (target.matches("dialog")) target.close();
    if (!button) return;
    if (button.dataset.copy !== undefined) {
      navigator.clipboard.writeText(button.dataset.copy).then(
        function () { announce(button, "Copied"); },
        function () { announce(button, "Copy it by hand"); });
    } else if (button.dataset.open) {
      var menu = button.closest("details[data-menu]");
      if (menu) menu.open = false;
      open(button.dataset.open);
    } else if (button.dataset.dismiss !== undefined) {
      button.closest("[data-flash]").remove();
      document.getElementById("main").focus();
    } else if (button.dataset.themeSwitch !== undefined) {
      var dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = dark ? "light" : "dark";
      try { localStorage.setItem("kith-theme", root.dataset.theme); } catch (e) { /* it is kept for this page */ }
    } else if (button.dataset.select !== undefined) {
      button.select();
    }
  });

  // Keys. They do nothing while a person types.
  var pending = 0;
  document.addEventListener("keydown", function (event) {
    if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k") {
      event.preventDefault();
      open("palette");
      return;
    }
    if (event.key === "Escape") {
      document.querySelectorAll("details[data-menu][open]").forEach(function (menu) {
        menu.open = false;
        menu.querySelector("summary").focus();
      });
    }
    var filter = event.target.closest && event.target.closest("[data-filter]");
    if (filter) {
      var items = Array.from(document.getElementById(filter.dataset.filter).querySelectorAll("li:not([hidden]) > a"));
      if (event.key === "Enter" && items[0]) {
        event.preventDefault();
        items[0].click();
      } else if (event.key === "ArrowDown" && items[0]) {
        event.preventDefault();
        items[0].focus();
      }
      return;
    }
    var item = event.target.closest && event.target.closest(".palette li > a");
    if (item && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      var all = Array.from(item.closest("ul").querySelectorAll("li:not([hidden]) > a"));
      var next = all[all.indexOf(item) + (event.key === "ArrowDown" ? 1 : -1)];
      (next || item.closest("dialog").querySelector("[data-filter]")).focus();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, [contenteditable], dialog[open]")) return;
    if (pending && Date.now() - pending < 1500) {
      pending = 0;
      var to = document.querySelector('[data-go="' + CSS.escape(event.key) + '"]');
      if (to) {
        event.preventDefault();
        location.href = to.href;
      }
      return;
    }
    pending = 0;
    if (event.key === "g") {
      pending = Date.now();
    } else if (event.key === "?") {
      event.preventDefault();
      open("help");
    } else if (event.key === "/") {
      var input = document.querySelector("[data-list-filter] input:not([type=hidden])");
      if (input) {
        event.preventDefault();
        input.focus();
      }
    }
  });

  // On a phone the sections are in a line that scrolls: the current one is in its middle.
  var current = document.querySelector(".sections [aria-current]");
  if (current) {
    var line = current.closest("ul");
    line.scrollLeft = current.offsetLeft - line.offsetLeft - (line.clientWidth - current.offsetWidth) / 2;
  }

  // The errors of a form are read first.
  var errors = document.querySelector("[data-focus]");
  if (errors) errors.focus();

  // A message about the last change is not shown again when the page is loaded again.
  if (location.search.includes("done=")) {
    var url = new URL(location.href);
    url.searchParams.delete("done");
    history.replaceState(history.state, "", url);
  }

  // Requests of htmx carry the token of the session.
  document.addEventListener("htmx:configRequest", function (event) {
    if (event.detail.verb !== "get" && document.body.dataset.csrf) event.detail.headers["X-Csrf-Token"] = document.body.dataset.csrf;
  });
  // The page of a wrong filter or form says what is wrong.
  document.addEventListener("htmx:beforeSwap", function (event) {
    if (event.detail.xhr.status === 422) {
      event.detail.shouldSwap = true;
      event.detail.isError = false;
    }
  });
  // A part of the page that did not arrive. The message leaves when one arrives.
  var trouble = document.createElement("p");
  trouble.className = "trouble";
  trouble.setAttribute("role", "alert");
  trouble.hidden = true;
  document.body.append(trouble);
  function failed(text) {
    trouble.textContent = text;
    trouble.hidden = false;
  }
  document.addEventListener("htmx:sendError", function () { failed("The server cannot be reached. Check your connection, then try again."); });
  document.addEventListener("htmx:responseError", function () { failed("The server could not answer. Wait a moment, then try again or load the page again."); });
  document.addEventListener("htmx:afterSwap", function () { trouble.hidden = true; });
  document.addEventListener("htmx:load", function (event) { prepare(event.detail.elt); });
  prepare(document);
})();

// Sends the file of an import in pieces, with progress: the edge has each request in memory
// and accepts 8 MB by default. Without this script the form sends the file in one request.
(function () {
  "use strict";
  var form = document.querySelector("form[data-upload]");
  if (!form) return;
  var input = form.querySelector("input[type=file]");
  var drop = form.querySelector("[data-drop]");
  var box = form.querySelector("[data-sending]");
  var bar = box.querySelector("progress");
  var state = box.querySelector("[data-state]");
  var failed = box.querySelector("[data-failed]");
  var again = box.querySelector("[data-again]");
  var stop = box.querySelector("[data-stop]");
  var submit = form.querySelector("[type=submit]");

  var firstSize = 4 << 20, smallest = 64 << 10, tries = 5;
  var current = null; // the upload that runs: {file, at, size, pieces, request, began}

  function size(n) {
    var units = ["bytes", "kB", "MB", "GB"], i = 0;
    while (n >= 1000 && i < units.length - 1) { n /= 1000; i++; }
    return n.toLocaleString(undefined, { minimumFractionDigits: i ? 1 : 0, maximumFractionDigits: 1 }) + " " + units[i];
  }
  function remaining(seconds) {
    if (seconds >= 90) return "about " + Math.round(seconds / 60) + " minutes left";
    return "about " + Math.max(1, Math.round(seconds)) + (seconds < 1.5 ? " second left" : " seconds left");
  }
  function show(upload, sent) {
    var done = upload.at + sent;
    bar.value = Math.floor(done * 100 / upload.file.size);
    var seconds = (Date.now() - upload.began) / 1000;
    var text = size(done) + " of " + size(upload.file.size) + ", " + bar.value + " %";
    if (seconds > 2 && done > upload.from) text += ", " + remaining((upload.file.size - done) * seconds / (done - upload.from));
    // The status is announced, so it changes once a second at most.
    if (Date.now() - upload.shown > 1000 || done === upload.file.size) {
      upload.shown = Date.now();
      state.textContent = text;
    }
  }
  function leave(event) { event.preventDefault(); }
  function running(on) {
    submit.disabled = on;
    form.querySelectorAll("[name=type], [type=file]").forEach(function (field) { field.disabled = on; });
    stop.hidden = !on;
    if (on) addEventListener("beforeunload", leave); else removeEventListener("beforeunload", leave);
  }
  function fail(upload, text) {
    running(false);
    failed.textContent = text;
    failed.hidden = again.hidden = false;
    again.focus();
  }

  // piece sends the next piece. A piece that fails is sent again, later each time; one that is
  // too large for a proxy is divided.
  function piece(upload, attempt) {
    if (upload !== current) return;
    if (upload.at >= upload.file.size) { join(upload); return; }
    var end = Math.min(upload.at + upload.size, upload.file.size);
    var request = upload.request = new XMLHttpRequest();
    function later(text) {
      if (upload !== current) return;
      if (attempt >= tries) { fail(upload, text); return; }
      state.textContent = "The connection was interrupted. Trying again…";
      setTimeout(function () { piece(upload, attempt + 1); }, 500 * Math.pow(2, attempt));
    }
    request.open("POST", form.dataset.pieces);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.setRequestHeader("X-Csrf-Token", document.body.dataset.csrf);
    request.upload.onprogress = function (event) { if (upload === current) show(upload, event.loaded); };
    request.onerror = function () { later("The file could not be sent: the server cannot be reached. What was sent is kept for a day."); };
    request.onload = function () {
      if (upload !== current) return;
      if (request.status === 200 && request.responseURL.endsWith(form.dataset.pieces)) {
        upload.pieces.push(request.responseText);
        upload.at = end;
        show(upload, 0);
        piece(upload, 0);
      } else if (request.status === 413 && upload.size > smallest) {
        upload.size = Math.max(smallest, upload.size / 4);
        piece(upload, 0);
      } else if (request.status === 408 || request.status === 429 || request.status >= 500) {
        later("The file could not be sent: the server is busy. What was sent is kept for a day.");
      } else {
        fail(upload, "The file could not be sent: your session has ended, or your role has changed. Load the page again.");
      }
    };
    request.send(upload.file.slice(upload.at, end));
  }

  // join opens the page that checks the file.
  function join(upload) {
    state.textContent = "The file has arrived. It is being checked…";
    stop.hidden = true;
    removeEventListener("beforeunload", leave);
    var next = document.createElement("form");
    next.method = "post";
    next.action = form.dataset.join;
    next.hidden = true;
    [["csrf", document.body.dataset.csrf], ["type", upload.type], ["name", upload.file.name], ["pieces", upload.pieces.join(" ")]].forEach(function (field) {
      var element = document.createElement("input");
      element.type = "hidden";
      element.name = field[0];
      element.value = field[1];
      next.append(element);
    });
    document.body.append(next);
    next.submit();
  }

  function start(upload) {
    current = upload;
    upload.from = upload.at;
    upload.began = Date.now();
    upload.shown = 0;
    box.hidden = false;
    failed.hidden = again.hidden = true;
    failed.textContent = "";
    box.querySelector("[data-name]").textContent = upload.file.name;
    running(true);
    show(upload, 0);
    piece(upload, 0);
  }

  form.addEventListener("submit", function (event) {
    var file = input.files[0], type = form.querySelector("[name=type]:checked");
    if (!file || !file.size || !type) return; // the server says what is missing
    event.preventDefault();
    start({ file: file, type: type.value, at: 0, size: firstSize, pieces: [] });
  });
  again.addEventListener("click", function () { start(current); });
  stop.addEventListener("click", function () {
    var stopped = current;
    current = null;
    if (stopped && stopped.request) stopped.request.abort();
    running(false);
    box.hidden = true;
    submit.focus();
  });
  // A page that the browser has kept begins again.
  addEventListener("pageshow", function (event) {
    if (event.persisted) { current = null; running(false); box.hidden = true; }
  });

  ["dragenter", "dragover"].forEach(function (name) {
    drop.addEventListener(name, function (event) {
      event.preventDefault();
      drop.classList.add("over");
    });
  });
  ["dragleave", "drop"].forEach(function (name) {
    drop.addEventListener(name, function () { drop.classList.remove("over"); });
  });
  drop.addEventListener("drop", function (event) {
    event.preventDefault();
    if (current && submit.disabled || !event.dataTransfer.files.length) return;
    input.files = event.dataTransfer.files;
    input.focus();
  });
})();

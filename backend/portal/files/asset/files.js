// Of both scripts below: a number of bytes, and a time in seconds, for people.
function kithSize(n) {
  var units = ["bytes", "kB", "MB", "GB"], i = 0;
  while (n >= 1000 && i < units.length - 1) { n /= 1000; i++; }
  return n.toLocaleString(undefined, { minimumFractionDigits: i ? 1 : 0, maximumFractionDigits: 1 }) + " " + units[i];
}
function kithRemaining(seconds) {
  if (seconds >= 90) return "about " + Math.round(seconds / 60) + " minutes left";
  return "about " + Math.max(1, Math.round(seconds)) + (seconds < 1.5 ? " second left" : " seconds left");
}

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

  function show(upload, sent) {
    var done = upload.at + sent;
    bar.value = Math.floor(done * 100 / upload.file.size);
    var seconds = (Date.now() - upload.began) / 1000;
    var text = kithSize(done) + " of " + kithSize(upload.file.size) + ", " + bar.value + " %";
    if (seconds > 2 && done > upload.from) text += ", " + kithRemaining((upload.file.size - done) * seconds / (done - upload.from));
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
      } else if (request.status === 409) {
        fail(upload, "The file could not be sent. " + request.responseText);
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

// Fetches a file of a job that is too large for one answer of the edge in parts, with
// progress, and gives it to the browser. The parts are blobs, which browsers keep on disk.
(function () {
  "use strict";
  var box = document.getElementById("receiving");
  if (!box) return;
  var bar = box.querySelector("progress");
  var state = box.querySelector("[data-state]");
  var failed = box.querySelector("[data-failed]");
  var again = box.querySelector("[data-again]");
  var stop = box.querySelector("[data-stop]");
  var partSize = 8 << 20, tries = 5;
  var current = null; // the download that runs: {form, file, size, at, parts, link, name, from, began, shown}

  function show(d) {
    bar.value = Math.floor(d.at * 100 / d.size);
    var seconds = (Date.now() - d.began) / 1000;
    var text = kithSize(d.at) + " of " + kithSize(d.size) + ", " + bar.value + " %";
    if (seconds > 2 && d.at > d.from) text += ", " + kithRemaining((d.size - d.at) * seconds / (d.at - d.from));
    if (Date.now() - d.shown > 1000 || d.at === d.size) {
      d.shown = Date.now();
      state.textContent = text;
    }
  }
  function fail(d, text) {
    if (d !== current) return;
    failed.textContent = text;
    failed.hidden = again.hidden = false;
    stop.hidden = true;
    again.focus();
  }

  // authorize gets a link to the file, which is valid for an hour. The audit log has an entry
  // for it.
  function authorize(d) {
    var form = new URLSearchParams(new FormData(d.form));
    form.set("file", d.file);
    form.set("as", "link");
    return fetch(d.form.action, { method: "POST", body: form, redirect: "error" }).then(function (answer) {
      if (!answer.ok) throw new Error();
      return answer.text();
    }).then(function (link) { d.link = link; });
  }

  // part fetches the next part, and tries again, later each time, if that fails.
  function part(d, attempt) {
    if (d !== current) return;
    if (d.at >= d.size) { save(d); return; }
    fetch(d.link, { headers: { Range: "bytes=" + d.at + "-" + (Math.min(d.at + partSize, d.size) - 1) } }).then(function (answer) {
      var range = /^bytes (\d+)-\d+\/(\d+)$/.exec(answer.headers.get("Content-Range") || "");
      if (answer.status !== 206 || !range || Number(range[1]) !== d.at || Number(range[2]) !== d.size) throw answer.status;
      d.name = (/filename="([^"]+)"/.exec(answer.headers.get("Content-Disposition") || "") || [])[1] || "file";
      return answer.blob();
    }).then(function (blob) {
      if (d !== current) return;
      d.parts.push(blob);
      d.at += blob.size;
      show(d);
      part(d, 0);
    }).catch(function (status) {
      if (d !== current) return;
      if (status === 401 || status === 404 || attempt >= tries) {
        d.link = "";
        fail(d, status === 404 ? "The file is not kept any more." : "The file could not be fetched: the server cannot be reached. What has arrived is kept while this page is open.");
        return;
      }
      state.textContent = "The connection was interrupted. Trying again…";
      setTimeout(function () { part(d, attempt + 1); }, 500 * Math.pow(2, attempt));
    });
  }

  function save(d) {
    var link = document.createElement("a");
    var url = link.href = URL.createObjectURL(new Blob(d.parts, { type: "application/octet-stream" }));
    link.download = d.name;
    link.click();
    setTimeout(function () { URL.revokeObjectURL(url); }, 60000);
    current = null;
    stop.hidden = true;
    state.textContent = kithSize(d.size) + ". The file is in your downloads.";
  }

  function start(d) {
    current = d;
    d.began = Date.now();
    d.from = d.at;
    d.shown = 0;
    box.hidden = stop.hidden = false;
    failed.hidden = again.hidden = true;
    show(d);
    box.scrollIntoView({ block: "nearest" });
    (d.link ? Promise.resolve() : authorize(d)).then(function () { part(d, 0); }, function () {
      fail(d, "The file could not be fetched: your session has ended, or the server cannot be reached. Load the page again.");
    });
  }

  document.addEventListener("submit", function (event) {
    var button = event.submitter;
    if (!button || !button.dataset.large) return;
    event.preventDefault();
    start({ form: event.target, file: button.value, size: Number(button.dataset.large), at: 0, parts: [] });
  });
  again.addEventListener("click", function () { start(current); });
  stop.addEventListener("click", function () {
    current = null;
    box.hidden = true;
  });
})();

// Buttons that copy, tabs of code samples, and the progress of the story. The shop works
// without this script.
'use strict';

async function copy(button, text) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = 'Copied';
  } catch {
    button.textContent = 'Press Ctrl+C';
  }
  setTimeout(() => { button.textContent = before; }, 1500);
}

for (const button of document.querySelectorAll('[data-copy]')) {
  button.hidden = false;
  button.addEventListener('click', () => copy(button, button.parentElement.querySelector('code').textContent));
}
for (const button of document.querySelectorAll('[data-copy-from]')) {
  button.hidden = false;
  button.addEventListener('click', () => {
    const input = document.querySelector(button.dataset.copyFrom);
    input.select();
    copy(button, input.value);
  });
}

/** The tabs of all calls show the same language; the choice stays. */
function choose(name) {
  for (const tab of document.querySelectorAll('[role=tab]')) {
    const group = tab.closest('[data-tabs]');
    const own = group.querySelector(`[data-tab="${name}"]`) ? name : 'curl';
    const chosen = tab.dataset.for === own;
    tab.setAttribute('aria-selected', chosen);
    tab.tabIndex = chosen ? 0 : -1;
    group.querySelector(`[data-tab="${tab.dataset.for}"]`).hidden = !chosen;
  }
  if (name !== 'Answer') sessionStorage.setItem('language', name);
}

let ids = 0;
for (const group of document.querySelectorAll('[data-tabs]')) {
  const list = document.createElement('div');
  list.className = 'tablist';
  list.setAttribute('role', 'tablist');
  list.setAttribute('aria-label', 'Language');
  for (const section of group.querySelectorAll('[data-tab]')) {
    const tab = document.createElement('button');
    tab.type = 'button';
    tab.setAttribute('role', 'tab');
    tab.dataset.for = section.dataset.tab;
    tab.textContent = section.dataset.tab;
    section.id = 'panel' + ++ids;
    tab.id = 'tab' + ids;
    section.setAttribute('role', 'tabpanel');
    section.setAttribute('aria-labelledby', tab.id);
    tab.setAttribute('aria-controls', section.id);
    section.querySelector('h4').remove();
    tab.addEventListener('click', () => (tab.dataset.for === 'Answer' ? only(group) : choose(tab.dataset.for)));
    tab.addEventListener('keydown', (event) => {
      const to = { ArrowRight: tab.nextElementSibling, ArrowLeft: tab.previousElementSibling }[event.key];
      if (to) { to.focus(); to.click(); }
    });
    list.append(tab);
  }
  group.prepend(list);
}

/** Shows the answer of one call. */
function only(group) {
  for (const tab of group.querySelectorAll('[role=tab]')) {
    const chosen = tab.dataset.for === 'Answer';
    tab.setAttribute('aria-selected', chosen);
    tab.tabIndex = chosen ? 0 : -1;
    group.querySelector(`[data-tab="${tab.dataset.for}"]`).hidden = !chosen;
  }
}
choose(sessionStorage.getItem('language') || 'curl');

const story = document.querySelector('[data-story]');
const bar = document.querySelector('#storybar');
if (story && bar) {
  const timer = setInterval(async () => {
    const state = await (await fetch(story.dataset.story)).json();
    document.querySelector('#storytext').textContent = state.text;
    bar.max = state.all || 1;
    bar.value = state.done;
    if (!state.running) {
      clearInterval(timer);
      location.reload();
    }
  }, 250);
}

/** The frame of the widget is as high as its content. */
for (const frame of document.querySelectorAll('iframe.widget')) {
  const fit = () => {
    const inner = frame.contentDocument && frame.contentDocument.documentElement;
    if (inner) frame.height = inner.offsetHeight;
  };
  frame.addEventListener('load', () => {
    fit();
    new ResizeObserver(fit).observe(frame.contentDocument.body);
  });
  if (frame.contentDocument && frame.contentDocument.readyState === 'complete') fit();
}

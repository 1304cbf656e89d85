// The default template of the widget, and the page of a dead share link, in languages and themes.
import { mkdirSync } from 'node:fs';

const languages = { en: 'ltr', de: 'ltr', fr: 'ltr', es: 'ltr', pt: 'ltr', ar: 'rtl' };

/** With KITH_SCREENSHOTS=FOLDER in the environment, scenarios store pictures there. */
export async function picture(page, name) {
  const folder = process.env.KITH_SCREENSHOTS;
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true });
}

/** Stores the values of Anna's widget, and gives her a code, credit and pending credit. */
async function prepare({ call }, values) {
  await call('/api/v1/shop/widgets/REFERRER_WIDGET', { method: 'PUT', body: JSON.stringify({ values }) });
  const rewards = await call('/api/v1/shop/reward?accountId=anna');
  if (rewards.length) return;
  const give = (reward) => call('/api/v1/shop/rewards/account/anna/user/anna', { method: 'POST', body: JSON.stringify(reward) });
  await give({ type: 'FUELTANK', fuelTankCode: 'SPRING-15', fuelTankType: 'PCT_DISCOUNT', amount: 15, unit: '%', dateExpires: Date.UTC(2040, 2, 1, 12) });
  await give({ type: 'CREDIT', unit: 'CENTS', currency: 'USD', assignedCredit: 1050 });
  await give({ type: 'CREDIT', unit: 'months', assignedCredit: 2, dateScheduledFor: Date.UTC(2040, 0, 15, 12) });
}

/** Opens Anna's widget in a page of its own. */
async function open({ visitor, call, shop }, locale, options) {
  const { template } = await call('/api/v1/shop/widget/account/anna/user/anna/render?engagementMedium=EMBED&locale=' + locale);
  const page = await visitor(options);
  await page.goto(shop + '/empty');
  await page.setContent(template);
  return page;
}

/** Returns the texts of a page whose contrast is below what WCAG AA requires. */
export function faint(page) {
  return page.evaluate(() => {
    const context = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    function over(colors) {
      context.clearRect(0, 0, 1, 1);
      for (const color of colors) {
        context.fillStyle = color;
        context.fillRect(0, 0, 1, 1);
      }
      const light = Array.from(context.getImageData(0, 0, 1, 1).data.slice(0, 3), (c) => (c <= 10 ? c / 3294 : ((c / 255 + 0.055) / 1.055) ** 2.4));
      return 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2];
    }
    const found = [];
    let texts = 0;
    for (const element of document.querySelectorAll('body *')) {
      const own = element.value || Array.from(element.childNodes, (n) => (n.nodeType === 3 ? n.nodeValue.trim() : '')).join('');
      if (!own || element.tagName === 'SCRIPT' || !element.checkVisibility()) continue;
      texts++;
      const grounds = [];
      for (let e = element; e; e = e.parentElement) grounds.unshift(getComputedStyle(e).backgroundColor);
      const canvas = matchMedia('(prefers-color-scheme: dark)').matches && getComputedStyle(document.documentElement).colorScheme.includes('dark') ? '#121212' : '#fff';
      const ground = over([canvas, ...grounds]), ink = over([canvas, ...grounds, getComputedStyle(element).color]);
      const ratio = (Math.max(ground, ink) + 0.05) / (Math.min(ground, ink) + 0.05);
      if (ratio < 4.5) found.push(`${own.slice(0, 30)}: ${ratio.toFixed(2)}`);
    }
    return texts ? found : ['there is no text'];
  });
}

/** Each language fits a phone and a desktop, in the light and the dark theme, with enough contrast. */
export async function languagesAndThemes(t) {
  const { assert } = t;
  const titles = new Set();
  for (const theme of ['light', 'dark']) {
    await prepare(t, { theme });
    for (const [language, direction] of Object.entries(languages)) {
      for (const width of [360, 1280]) {
        const page = await open(t, language, { viewport: { width, height: 800 } });
        const shown = await page.evaluate(() => ({
          lang: document.documentElement.lang, dir: document.documentElement.dir, wide: document.documentElement.scrollWidth,
          title: document.querySelector('h1').textContent, text: document.body.innerText,
          close: document.querySelector('.close').getAttribute('aria-label'),
        }));
        assert.deepEqual([shown.lang, shown.dir], [language, direction]);
        assert.ok(shown.wide <= width, `${language} is ${shown.wide} wide on ${width}`);
        assert.doesNotMatch(shown.text, /undefined|null|NaN|[{}]/, language);
        assert.match(shown.text, /SPRING-15/);
        assert.ok(shown.close);
        assert.deepEqual(await faint(page), [], `${language}, ${theme}`);
        titles.add(shown.title);
        await picture(page, `widget-${language}-${theme}-${width}`);
        await page.close();
      }
    }
  }
  assert.equal(titles.size, Object.keys(languages).length);
}

/** What Anna has and what is pending is named, and the code is copied. */
export async function earned(t) {
  const { assert, eventually } = t;
  await prepare(t, {});
  const page = await open(t, 'de', { permissions: ['clipboard-read', 'clipboard-write'], locale: 'en-US' });
  assert.equal(await page.textContent('.have'), 'Du hast: 10,50\u00a0$');
  assert.equal(await page.textContent('.codes li .who'), 'SPRING-1515\u00a0% Rabatt · gültig bis 01.03.2040');
  assert.equal(await page.textContent('.pending li'), '2 Monate gratisverfügbar ab 15.01.2040');
  assert.equal(await page.getAttribute('.codes button', 'aria-label'), 'Den Code SPRING-15 kopieren');
  await page.click('.codes button');
  await eventually(async () => assert.equal(await page.textContent('.codes button'), 'Kopiert'));
  const mail = new URL(await page.getAttribute('.ways a', 'href'));
  assert.match(mail.searchParams.get('subject'), /^Hol dir 10\u00a0% Rabatt bei /);
  assert.match(mail.searchParams.get('body'), /^Ich empfehle dir [^]*\r\n\r\nhttp:[^]*\/s\/shop\/ANNA10\?rsShareMedium=EMAIL&rsEngagementMedium=EMBED$/);
}

/** The shop's variables are set, and wrong ones are ignored. The theme follows the system. */
export async function variables(t) {
  const { assert, eventually } = t;
  await prepare(t, {
    theme: 'auto', variables: { '--kith-accent': '#ffd84d', '--kith-radius': '2px', '--kith-font': 'Georgia, serif', '--kith-text': 'url(https://evil.example/)', '--kith-nothing': 'red', '--kith-field': 7 },
    darkVariables: { '--kith-accent': 'navy', '--kith-background': 'black' },
  });
  const page = await open(t, 'en', { colorScheme: 'light' });
  const read = () => page.evaluate(() => {
    const style = (selector) => getComputedStyle(document.querySelector(selector));
    return [style('.copy').backgroundColor, style('.copy').color, style('.copy').borderRadius, style('.card').fontFamily, style('.card').color, style('.card').backgroundColor];
  });
  assert.deepEqual(await read(), ['rgb(255, 216, 77)', 'rgb(0, 0, 0)', '2px', 'Georgia, serif', 'rgb(28, 27, 34)', 'rgb(255, 255, 255)']);
  await picture(page, 'widget-variables');
  await page.emulateMedia({ colorScheme: 'dark' });
  await eventually(async () => assert.deepEqual(await read(),
    ['rgb(0, 0, 128)', 'rgb(255, 255, 255)', '2px', 'Georgia, serif', 'rgb(243, 243, 246)', 'rgb(0, 0, 0)']));
  assert.equal(await page.evaluate(() => document.documentElement.style.getPropertyValue('--kith-nothing')), '');
}

/** A dead link shows a page in the language of the browser; its policy admits its style. */
export async function deadLink(t) {
  const { visitor, assert, errors, kith } = t;
  for (const [locale, title] of [['de-AT', 'Dieser Link funktioniert nicht'], ['ar', 'هذا الرابط لا يعمل'], ['sv', 'This link does not work']]) {
    for (const colorScheme of ['light', 'dark']) {
      const page = await visitor({ locale, colorScheme, viewport: { width: 360, height: 640 } });
      page.on('console', (message) => message.text().includes('Content Security Policy') && errors.push(message.text()));
      const answer = await page.goto(kith + '/s/nobody/ANNA10');
      assert.equal(answer.status(), 404);
      assert.equal(await page.textContent('h1'), title);
      assert.equal(await page.evaluate(() => getComputedStyle(document.querySelector('h1')).fontSize), '26px');
      assert.equal(await page.evaluate(() => getComputedStyle(document.body).direction), locale === 'ar' ? 'rtl' : 'ltr');
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= 360);
      assert.deepEqual(await faint(page), []);
      await picture(page, `dead-${locale}-${colorScheme}`);
      await page.close();
    }
  }
}

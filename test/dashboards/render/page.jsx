// The page: what Grafana does around panels, with every row open.
import {
  applyFieldOverrides, cacheFieldDisplayNames, createTheme, dateTime, FieldType, Registry, standardTransformers, standardTransformersRegistry, ThemeContext, transformDataFrame,
} from '@grafana/data';
import { GlobalStyles, PanelChrome } from '@grafana/ui';
import { Component } from 'react';
import { createRoot } from 'react-dom/client';
import { lastValueFrom } from 'rxjs';
import { choose, frames, put, seconds, task } from './data.js';
import { Bars, Course, Heatmap, Stat, StateTimeline, Table } from './forms.jsx';

const forms = { timeseries: Course, stat: Stat, bargauge: Bars, table: Table, heatmap: Heatmap, 'state-timeline': StateTimeline };
const unit = 38; // height of a unit of the grid, in pixels
const theme = createTheme({ colors: { mode: task.theme } });
const timeRange = { from: dateTime(task.start * 1000), to: dateTime(task.end * 1000), raw: { from: `now-${seconds}s`, to: 'now' } };

standardTransformersRegistry.setInit(() => [...new Set(Object.values(standardTransformers))].map((one) => ({ id: one.id, name: one.name, transformation: async () => one })));

// registry accepts the properties that a panel sets: the real one lives in Grafana's program.
function registry(fieldConfig) {
  const ids = new Set(['unit', 'min', 'max', 'decimals', 'color', 'thresholds', 'mappings', 'noValue', 'links']);
  for (const name of Object.keys(fieldConfig.defaults.custom ?? {})) ids.add(`custom.${name}`);
  for (const override of fieldConfig.overrides) for (const property of override.properties) ids.add(property.id);
  return new Registry(() => [...ids].map((id) => ({
    id, name: id, path: id.replace('custom.', ''), isCustom: id.startsWith('custom.'), process: (value) => value, shouldApply: () => true,
  })));
}

// load asks the queries of a panel and makes fields of the answers, with units, colours and words.
async function load(panel) {
  let list = (await Promise.all(panel.targets.map((target) => frames(panel, target)))).flat();
  const histograms = list.some((frame) => frame.histograms?.length > 0);
  if (panel.transformations) list = await lastValueFrom(transformDataFrame(panel.transformations, list, { interpolate: put }));
  if (panel.type === 'timeseries') {
    for (const frame of list) for (const field of frame.fields) field.values = field.type === FieldType.number ? field.values.map((v) => (Number.isFinite(v) ? v : null)) : field.values;
  }
  const kept = list.map((frame) => frame.histograms ?? []);
  const fieldConfig = structuredClone(panel.fieldConfig);
  fieldConfig.defaults.thresholds.steps[0].value = -Infinity;
  const shown = applyFieldOverrides({ data: list, fieldConfig, replaceVariables: put, theme, timeZone: 'utc', fieldConfigRegistry: registry(fieldConfig) });
  shown.forEach((frame, i) => { frame.histograms = kept[i]; });
  cacheFieldDisplayNames(shown);
  const some = histograms || shown.some((frame) => frame.fields.some((field) => field.type === FieldType.number && field.values.some(Number.isFinite)));
  return { frames: shown, fieldConfig, some };
}

class Guard extends Component {
  state = {};

  static getDerivedStateFromError(error) { return { error }; }

  componentDidCatch(error) { Object.assign(this.props.line, { state: 'failed', note: String(error) }); }

  render() { return this.state.error ? <pre>{String(this.state.error)}</pre> : this.props.children; }
}

function place({ x, y, w, h }) {
  const column = (task.width - 16) / 24;
  return { position: 'absolute', left: 8 + x * column, top: 48 + y * unit, width: w * column - 8, height: h * unit - 8 };
}

function Panel({ panel, data, line }) {
  const at = place(panel.gridPos);
  if (panel.type === 'row') return <h4 style={{ ...at, lineHeight: `${unit}px` }}>{panel.title}</h4>;
  const Form = forms[panel.type];
  return <div style={at}><PanelChrome title={put(panel.title)} description={panel.description} width={at.width} height={at.height}>{(width, height) => <Guard line={line}>
    {line.state === 'drawn' ? <Form panel={panel} data={data} theme={theme} timeRange={timeRange} width={width} height={height} />
      : <div style={{ height, display: 'grid', placeItems: 'center', color: theme.colors.text.secondary }}>{line.note}</div>}
  </Guard>}</PanelChrome></div>;
}

async function prepare(panel) {
  const line = { type: panel.type, title: put(panel.title), state: 'drawn', note: '' };
  if (panel.type === 'row') return { panel, line };
  try {
    const data = await load(panel);
    if (!data.some) Object.assign(line, { state: 'empty', note: panel.fieldConfig.defaults.noValue });
    return { panel, data, line };
  } catch (error) {
    return { panel, line: { ...line, state: 'failed', note: String(error) } };
  }
}

await choose(task.dashboard.templating.list);
const items = [];
for (const panel of task.dashboard.panels.flatMap((one) => [one, ...(one.panels ?? [])])) items.push(await prepare(panel)); // one after the other: it is a picture, not a race
const bottom = Math.max(...items.map(({ panel }) => panel.gridPos.y + panel.gridPos.h)) * unit + 60;
createRoot(document.getElementById('root')).render(<ThemeContext.Provider value={theme}>
  <GlobalStyles />
  <div style={{ position: 'relative', width: task.width, height: bottom, background: theme.colors.background.canvas, color: theme.colors.text.primary }}>
    <h3 style={{ padding: '10px 8px' }}>{task.dashboard.title}</h3>
    {items.map((item) => <Panel key={item.panel.id} {...item} />)}
  </div>
</ThemeContext.Provider>);
// Charts measure themselves after the first frame and draw in later ones.
setTimeout(() => { globalThis.report = items.filter(({ panel }) => panel.type !== 'row').map(({ line }) => line); }, 5000);

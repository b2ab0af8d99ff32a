// From the queries of a dashboard to the frames that Grafana's components draw.
import { FieldType, toDataFrame } from '@grafana/data';

export const task = await (await fetch('/task')).json();
export const seconds = task.end - task.start;

async function ask(path, parameters) {
  const answer = await (await fetch(`/api/v1/${path}?${new URLSearchParams(parameters)}`)).json();
  if (answer.status !== 'success') throw new Error(answer.error ?? 'no answer');
  return answer.data;
}

const variables = new Map();

// put replaces variables by their values, a list by an expression that matches each.
export function put(text, more = {}) {
  return String(text ?? '').replace(/\$\{(\w+)(?::\w+)?\}|\$(\w+)/g, (all, long, short) => {
    const value = more[long ?? short] ?? variables.get(long ?? short);
    return value === undefined ? all : value;
  });
}

// choose gives every variable of the dashboard a value: the one of the command line, all, or the first that there is.
export async function choose(list) {
  for (const variable of list) {
    variables.set(variable.name, task.chosen[variable.name] ?? await usual(variable));
  }
}

async function usual(variable) {
  if (variable.type === 'custom') return variable.current.value;
  if (variable.type !== 'query') return '';
  if (variable.includeAll) return variable.allValue;
  const [, series, label] = put(variable.query.query).match(/^label_values\((.*), (\w+)\)$/);
  return (await ask(`label/${label}/values`, { 'match[]': series, start: task.start, end: task.end }))[0] ?? '';
}

const number = (text) => ({ '+Inf': Infinity, '-Inf': -Infinity }[text] ?? Number(text));

// legend is the name of a series as the query wants it.
function legend(target, labels) {
  if (!target.legendFormat) return Object.entries(labels).filter(([name]) => name !== '__name__').map(([name, value]) => `${name}="${value}"`).join(', ') || 'value';
  return put(target.legendFormat).replace(/\{\{(\w+)\}\}/g, (_, name) => labels[name] ?? '').trim();
}

// frames answers one query of a panel.
export async function frames(panel, target) {
  const step = Math.max(task.scrape, Math.ceil(seconds / Math.max(150, (panel.gridPos.w / 24) * task.width / 2)));
  const expr = put(target.expr, {
    __interval: `${step}s`, __rate_interval: `${Math.max(4 * task.scrape, step + task.scrape)}s`, __range: `${seconds}s`,
  });
  const start = task.start - (task.start % step);
  const data = target.instant ? await ask('query', { query: expr, time: task.end }) : await ask('query_range', { query: expr, start, end: task.end, step });
  const series = data.resultType === 'scalar' ? [{ metric: {}, value: data.result }] : data.result;
  if (target.format === 'table') return table(target, series, panel.targets.length > 1);
  return series.map((one) => course(target, one, start, step));
}

// table is a frame with a line for each series and a column for each label.
function table(target, series, several) {
  if (series.length === 0) return [];
  const labels = [...new Set(series.flatMap((one) => Object.keys(one.metric)))].sort();
  return [toDataFrame({
    refId: target.refId,
    fields: [
      { name: 'Time', type: FieldType.time, values: series.map((one) => one.value[0] * 1000) },
      ...labels.map((name) => ({ name, type: FieldType.string, values: series.map((one) => one.metric[name] ?? '') })),
      { name: several ? `Value #${target.refId}` : 'Value', type: FieldType.number, values: series.map((one) => number(one.value[1])) },
    ],
  })];
}

// course is a frame of one series, with null where it has no value. Native histograms stay beside it as they came.
function course(target, one, start, step) {
  const known = new Map((one.values ?? [one.value]).filter(Boolean).map(([at, text]) => [at, number(text)]));
  const instants = one.values ? Array.from({ length: Math.floor((task.end - start) / step) + 1 }, (_, i) => start + i * step) : [...known.keys()];
  const frame = toDataFrame({
    refId: target.refId,
    fields: [
      { name: 'Time', type: FieldType.time, config: { interval: step * 1000 }, values: instants.map((at) => at * 1000) },
      {
        name: 'Value', type: FieldType.number, labels: one.metric, config: { displayNameFromDS: legend(target, one.metric) },
        values: instants.map((at) => known.get(at) ?? null),
      },
    ],
  });
  frame.histograms = one.histograms ?? [];
  return frame;
}

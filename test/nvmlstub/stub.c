/*
 * A driver of NVIDIA GPUs without any: a libnvidia-ml.so.1 for tests and for trying the exporter where there is no GPU. build.sh makes it.
 *
 * It shows two GPUs of 80 GiB that draw 400 W and 300 W for ever, so that their energy is that power times the time since the machine was started,
 * for every process that asks. What it does otherwise is set by words in the environment variable NVMLSTUB, or in the file that NVMLSTUB_FILE names,
 * which is read at each call, and whose words come first:
 *
 *   gpus=N             so many GPUs, 8 at most
 *   init=CODE          nvmlInit_v2 fails so
 *   fail=FUNCTION:CODE that function fails so
 *   hang=FUNCTION      that function does not return for as long as this stands there
 *   lost=GPU           that GPU is lost
 *   mig=GPU            that GPU is divided into instances
 *   instances=N        into so many, 2 at most; 2 where this is not set
 *   xid=GPU:CODE:N     that GPU has had so many errors of this code since the program was started
 *   watts=N            every GPU draws so much
 *   energy=N           the energy counters stand at so many millijoules
 *
 * A program that shuts it down while it still holds samples or event sets is ended with status 66.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "nvml.h"

#define GPUS 8
#define INSTANCES 2
#define LINKS 4
#define GIB (1ULL << 30)

struct nvmlDevice_st {
    int gpu;
    int instance; /* -1 = the whole GPU */
};

struct nvmlEventSet_st {
    int registered[GPUS];
};

struct nvmlGpmSample_st {
    double at;
};

static struct nvmlDevice_st wholes[GPUS];
static struct nvmlDevice_st parts[GPUS][INSTANCES];
static int users, samples, sets, delivered;

/* word finds "key=value" in a text and copies the value. */
static int word(const char *text, const char *key, char *value, size_t size) {
    size_t length = strlen(key);
    for (const char *p = text; p && *p; p += strcspn(p, " \n"), p += strspn(p, " \n")) {
        if (strncmp(p, key, length) == 0 && p[length] == '=') {
            const char *start = p + length + 1;
            size_t n = strcspn(start, " \n");
            snprintf(value, size, "%.*s", (int)n, start);
            return 1;
        }
    }
    return 0;
}

/* control finds what is set for a key. */
static int control(const char *key, char *value, size_t size) {
    const char *path = getenv("NVMLSTUB_FILE");
    if (path) {
        char text[4096] = "";
        FILE *f = fopen(path, "r");
        if (f) {
            size_t n = fread(text, 1, sizeof text - 1, f);
            text[n] = 0;
            fclose(f);
            if (word(text, key, value, size)) return 1;
        }
    }
    return word(getenv("NVMLSTUB"), key, value, size);
}

static long setting(const char *key, long otherwise) {
    char value[128];
    return control(key, value, sizeof value) ? atol(value) : otherwise;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

/* obey does to a call what is set for its function. */
static nvmlReturn_t obey(const char *function) {
    char value[128];
    while (control("hang", value, sizeof value) && strcmp(value, function) == 0) usleep(10000);
    if (control("fail", value, sizeof value)) {
        char *colon = strchr(value, ':');
        if (colon && (size_t)(colon - value) == strlen(function) && strncmp(value, function, colon - value) == 0) return atoi(colon + 1);
    }
    return NVML_SUCCESS;
}

static nvmlReturn_t enter(const char *function, const struct nvmlDevice_st *device) {
    nvmlReturn_t set = obey(function);
    if (set != NVML_SUCCESS) return set;
    if (users == 0) return NVML_ERROR_UNINITIALIZED;
    if (device && device->gpu == setting("lost", -1)) return NVML_ERROR_GPU_IS_LOST;
    return NVML_SUCCESS;
}

#define ENTER(device)                                    \
    do {                                                 \
        nvmlReturn_t ret = enter(__func__, device);      \
        if (ret != NVML_SUCCESS) return ret;             \
    } while (0)

/* WHOLE is for what instances do not have. */
#define WHOLE(device)                                             \
    do {                                                          \
        ENTER(device.handle);                                            \
        if (device.handle->instance >= 0) return NVML_ERROR_NOT_SUPPORTED; \
    } while (0)

static int divided(nvmlDevice_t d) { return d.handle->gpu == setting("mig", -1); }
static unsigned int watts(nvmlDevice_t d) { return setting("watts", d.handle->gpu == 0 ? 400 : 300); }

const char *nvmlErrorString(nvmlReturn_t result) {
    switch (result) {
    case NVML_SUCCESS: return "Success";
    case NVML_ERROR_UNINITIALIZED: return "Uninitialized";
    case NVML_ERROR_DRIVER_NOT_LOADED: return "Driver Not Loaded";
    case NVML_ERROR_LIB_RM_VERSION_MISMATCH: return "Driver/library version mismatch";
    case NVML_ERROR_NO_PERMISSION: return "Insufficient Permissions";
    case NVML_ERROR_GPU_IS_LOST: return "GPU is lost";
    default: return "Unknown Error";
    }
}

nvmlReturn_t nvmlInit_v2(void) {
    nvmlReturn_t set = obey(__func__);
    if (set == NVML_SUCCESS) set = setting("init", NVML_SUCCESS);
    if (set != NVML_SUCCESS) return set;
    for (int i = 0; i < GPUS; i++) {
        wholes[i] = (struct nvmlDevice_st){i, -1};
        for (int j = 0; j < INSTANCES; j++) parts[i][j] = (struct nvmlDevice_st){i, j};
    }
    users++;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlShutdown(void) {
    ENTER(NULL);
    if (samples != 0 || sets != 0) {
        fprintf(stderr, "nvmlstub: shut down with %d samples and %d event sets in use\n", samples, sets);
        _exit(66);
    }
    users--;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length) {
    ENTER(NULL);
    snprintf(version, length, "580.00.00");
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version) {
    ENTER(NULL);
    *version = 13010;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count) {
    ENTER(NULL);
    long n = setting("gpus", 2);
    *count = n < 0 ? 0 : n > GPUS ? GPUS : n;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device) {
    if (index >= GPUS) return NVML_ERROR_INVALID_ARGUMENT;
    ENTER(&wholes[index]);
    device->handle = &wholes[index];
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t d, char *uuid, unsigned int length) {
    ENTER(d.handle);
    if (d.handle->instance < 0)
        snprintf(uuid, length, "GPU-00000000-0000-0000-0000-%012d", d.handle->gpu);
    else
        snprintf(uuid, length, "MIG-00000000-0000-0000-%04d-%012d", d.handle->instance + 1, d.handle->gpu);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t d, char *name, unsigned int length) {
    ENTER(d.handle);
    snprintf(name, length, "NVIDIA H100 80GB HBM3");
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t d, nvmlPciInfo_t *pci) {
    WHOLE(d);
    memset(pci, 0, sizeof *pci);
    snprintf(pci->busId, sizeof pci->busId, "00000000:%02X:00.0", 0xA0 + d.handle->gpu);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetVbiosVersion(nvmlDevice_t d, char *version, unsigned int length) {
    WHOLE(d);
    snprintf(version, length, "96.00.74.00.01");
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t d, unsigned int *current, unsigned int *pending) {
    WHOLE(d);
    *current = *pending = divided(d) ? NVML_DEVICE_MIG_ENABLE : NVML_DEVICE_MIG_DISABLE;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t d, unsigned int *count) {
    WHOLE(d);
    *count = 7;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t d, unsigned int index, nvmlDevice_t *mig) {
    WHOLE(d);
    if (!divided(d) || index >= INSTANCES || index >= setting("instances", INSTANCES)) return NVML_ERROR_NOT_FOUND;
    mig->handle = &parts[d.handle->gpu][index];
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t d, unsigned int *id) {
    ENTER(d.handle);
    if (d.handle->instance < 0) return NVML_ERROR_NOT_SUPPORTED;
    *id = d.handle->instance + 7;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t d, nvmlDeviceAttributes_t *a) {
    ENTER(d.handle);
    if (d.handle->instance < 0) return NVML_ERROR_NOT_SUPPORTED;
    memset(a, 0, sizeof *a);
    a->gpuInstanceSliceCount = a->computeInstanceSliceCount = 1;
    a->memorySizeMB = 9984;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t d, unsigned int *milliwatts) {
    WHOLE(d);
    *milliwatts = watts(d) * 1000;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t d, unsigned int *milliwatts) {
    WHOLE(d);
    *milliwatts = 700000;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t d, unsigned long long *millijoules) {
    WHOLE(d);
    *millijoules = setting("energy", watts(d) * 1000 * now());
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t d, nvmlUtilization_t *u) {
    WHOLE(d);
    if (divided(d)) return NVML_ERROR_NOT_SUPPORTED;
    u->gpu = 87;
    u->memory = 41;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t d, nvmlMemory_t *m) {
    ENTER(d.handle);
    unsigned long long total = d.handle->instance < 0 ? 80 * GIB : 10 * GIB;
    *m = (nvmlMemory_t){.total = total, .used = total / 2, .free = total - total / 2};
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t d, nvmlMemory_v2_t *m) {
    ENTER(d.handle);
    if (m->version != nvmlMemory_v2) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    unsigned long long total = d.handle->instance < 0 ? 80 * GIB : 10 * GIB, reserved = total / 80, used = total / 2 - reserved;
    m->total = total, m->reserved = reserved, m->used = used, m->free = total - reserved - used;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t d, nvmlTemperatureSensors_t sensor, unsigned int *celsius) {
    WHOLE(d);
    if (sensor != NVML_TEMPERATURE_GPU) return NVML_ERROR_INVALID_ARGUMENT;
    *celsius = 61 + d.handle->gpu;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t d, nvmlClockType_t type, unsigned int *megahertz) {
    WHOLE(d);
    *megahertz = type == NVML_CLOCK_MEM ? 2619 : 1980;
    return NVML_SUCCESS;
}

/* ENGINE is a unit beside the compute ones: how much of a period it ran. */
#define ENGINE(function, share)                                                                 \
    nvmlReturn_t function(nvmlDevice_t d, unsigned int *percent, unsigned int *microseconds) { \
        WHOLE(d);                                                                               \
        *percent = share;                                                                       \
        *microseconds = 167000;                                                                 \
        return NVML_SUCCESS;                                                                    \
    }

ENGINE(nvmlDeviceGetEncoderUtilization, 0)
ENGINE(nvmlDeviceGetDecoderUtilization, 12)
ENGINE(nvmlDeviceGetJpgUtilization, 3)
ENGINE(nvmlDeviceGetOfaUtilization, 0)

nvmlReturn_t nvmlDeviceGetPcieThroughput(nvmlDevice_t d, nvmlPcieUtilCounter_t counter, unsigned int *kilobytes) {
    WHOLE(d);
    usleep(20000);
    *kilobytes = counter == NVML_PCIE_UTIL_TX_BYTES ? 1500 : 2500;
    return NVML_SUCCESS;
}

/* SIMPLE is a function of a whole GPU that gives one number. */
#define SIMPLE(function, type, number)                      \
    nvmlReturn_t function(nvmlDevice_t d, type *value) { \
        WHOLE(d);                                           \
        *value = number;                                    \
        return NVML_SUCCESS;                                \
    }

SIMPLE(nvmlDeviceGetPcieReplayCounter, unsigned int, 2)
SIMPLE(nvmlDeviceGetCurrPcieLinkGeneration, unsigned int, 5)
SIMPLE(nvmlDeviceGetCurrPcieLinkWidth, unsigned int, 16)
SIMPLE(nvmlDeviceGetCurrentClocksEventReasons, unsigned long long, nvmlClocksEventReasonSwPowerCap)
SIMPLE(nvmlDeviceGetCurrentClocksThrottleReasons, unsigned long long, nvmlClocksEventReasonSwPowerCap)
SIMPLE(nvmlDeviceGetPerformanceState, nvmlPstates_t, NVML_PSTATE_0)
SIMPLE(nvmlDeviceGetSupportedEventTypes, unsigned long long, nvmlEventTypeXidCriticalError | nvmlEventTypeDoubleBitEccError)

/* There is no fan in a server's GPU. */
nvmlReturn_t nvmlDeviceGetFanSpeed(nvmlDevice_t d, unsigned int *percent) {
    WHOLE(d);
    (void)percent;
    return NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t d, unsigned int link, nvmlEnableState_t *state) {
    WHOLE(d);
    if (link >= LINKS) return NVML_ERROR_INVALID_ARGUMENT;
    *state = link == LINKS - 1 ? NVML_FEATURE_DISABLED : NVML_FEATURE_ENABLED;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetNvLinkErrorCounter(nvmlDevice_t d, unsigned int link, nvmlNvLinkErrorCounter_t counter, unsigned long long *count) {
    WHOLE(d);
    if (link >= LINKS) return NVML_ERROR_INVALID_ARGUMENT;
    *count = counter == NVML_NVLINK_ERROR_DL_REPLAY ? link : 0;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t d, nvmlMemoryErrorType_t type, nvmlEccCounterType_t counter, unsigned long long *count) {
    WHOLE(d);
    *count = type == NVML_MEMORY_ERROR_TYPE_CORRECTED && counter == NVML_AGGREGATE_ECC ? 7 : 0;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t d, unsigned int *correctable, unsigned int *uncorrectable, unsigned int *pending,
                                       unsigned int *failed) {
    WHOLE(d);
    *correctable = 1, *uncorrectable = *failed = 0, *pending = 1;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetRetiredPages(nvmlDevice_t d, nvmlPageRetirementCause_t cause, unsigned int *count, unsigned long long *addresses) {
    WHOLE(d);
    unsigned int pages = cause == NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR ? 0 : 3;
    if (*count < pages) return NVML_ERROR_INSUFFICIENT_SIZE;
    for (unsigned int i = 0; i < pages; i++) addresses[i] = i << 12;
    *count = pages;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetViolationStatus(nvmlDevice_t d, nvmlPerfPolicyType_t policy, nvmlViolationTime_t *time) {
    WHOLE(d);
    if (policy == NVML_PERF_POLICY_SYNC_BOOST) return NVML_ERROR_NOT_SUPPORTED;
    *time = (nvmlViolationTime_t){.referenceTime = now() * 1e6, .violationTime = policy == NVML_PERF_POLICY_POWER ? 2500000000ULL : 0};
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t d, unsigned int *count, nvmlProcessInfo_t *infos) {
    ENTER(d.handle);
    unsigned int running = d.handle->instance < 0 ? 2 : 1;
    if (*count < running) {
        *count = running;
        return NVML_ERROR_INSUFFICIENT_SIZE;
    }
    for (unsigned int i = 0; i < running; i++) infos[i] = (nvmlProcessInfo_t){.pid = 1000 + i, .usedGpuMemory = GIB};
    *count = running;
    return NVML_SUCCESS;
}

static void answer(nvmlDevice_t d, nvmlFieldValue_t *v) {
    v->nvmlReturn = NVML_SUCCESS;
    v->valueType = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
    switch (v->fieldId) {
    case NVML_FI_DEV_POWER_INSTANT:
        v->valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
        v->value.uiVal = watts(d) * 1000;
        break;
    case NVML_FI_DEV_MEMORY_TEMP:
        v->valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
        v->value.uiVal = 70;
        break;
    case NVML_FI_DEV_NVLINK_LINK_COUNT:
        v->valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
        v->value.uiVal = LINKS;
        break;
    case NVML_FI_DEV_PCIE_COUNT_TX_BYTES: v->value.ullVal = now() * 1e6; break;
    case NVML_FI_DEV_PCIE_COUNT_RX_BYTES: v->value.ullVal = now() * 2e6; break;
    case NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX: v->value.ullVal = now() * 3e6 / (v->scopeId == UINT_MAX ? 1 : LINKS); break;
    case NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX: v->value.ullVal = now() * 4e6 / (v->scopeId == UINT_MAX ? 1 : LINKS); break;
    default: v->nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
    }
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t d, int count, nvmlFieldValue_t *values) {
    WHOLE(d);
    for (int i = 0; i < count; i++) answer(d, &values[i]);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *set) {
    ENTER(NULL);
    set->handle = calloc(1, sizeof *set->handle);
    sets++;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set) {
    ENTER(NULL);
    free(set.handle);
    sets--;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t d, unsigned long long types, nvmlEventSet_t set) {
    WHOLE(d);
    if (types & nvmlEventTypeXidCriticalError) set.handle->registered[d.handle->gpu] = 1;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int milliseconds) {
    ENTER(NULL);
    for (double until = now() + milliseconds * 1e-3; now() < until; usleep(5000)) {
        char value[128];
        int gpu, total;
        unsigned long long code;
        if (!control("xid", value, sizeof value) || sscanf(value, "%d:%llu:%d", &gpu, &code, &total) != 3) continue;
        if (gpu < 0 || gpu >= GPUS || !set.handle->registered[gpu] || delivered >= total) continue;
        delivered++;
        *data = (nvmlEventData_t){.device = {&wholes[gpu]}, .eventType = nvmlEventTypeXidCriticalError, .eventData = code};
        return NVML_SUCCESS;
    }
    return NVML_ERROR_TIMEOUT;
}

nvmlReturn_t nvmlGpmQueryDeviceSupport(nvmlDevice_t d, nvmlGpmSupport_t *support) {
    WHOLE(d);
    support->isSupportedDevice = 1;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlGpmSampleAlloc(nvmlGpmSample_t *sample) {
    ENTER(NULL);
    sample->handle = calloc(1, sizeof *sample->handle);
    samples++;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlGpmSampleFree(nvmlGpmSample_t sample) {
    ENTER(NULL);
    free(sample.handle);
    samples--;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlGpmSampleGet(nvmlDevice_t d, nvmlGpmSample_t sample) {
    WHOLE(d);
    if (divided(d)) return NVML_ERROR_NOT_SUPPORTED;
    sample.handle->at = now();
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlGpmMigSampleGet(nvmlDevice_t d, unsigned int instance, nvmlGpmSample_t sample) {
    WHOLE(d);
    if (!divided(d) || instance < 7 || instance >= 7 + INSTANCES) return NVML_ERROR_INVALID_ARGUMENT;
    sample.handle->at = now();
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlGpmMetricsGet(nvmlGpmMetricsGet_t *request) {
    ENTER(NULL);
    if (request->version != NVML_GPM_METRICS_GET_VERSION) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (request->sample1.handle->at == 0 || request->sample2.handle->at <= request->sample1.handle->at) return NVML_ERROR_INVALID_ARGUMENT;
    for (unsigned int i = 0; i < request->numMetrics; i++) {
        nvmlGpmMetric_t *m = &request->metrics[i];
        m->nvmlReturn = NVML_SUCCESS;
        switch (m->metricId) {
        case NVML_GPM_METRIC_GRAPHICS_UTIL: m->value = 90; break;
        case NVML_GPM_METRIC_SM_UTIL: m->value = 75; break;
        case NVML_GPM_METRIC_SM_OCCUPANCY: m->value = 50; break;
        case NVML_GPM_METRIC_ANY_TENSOR_UTIL: m->value = 25; break;
        case NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC: m->value = 64; break;
        case NVML_GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC: m->value = 32; break;
        default: m->nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
        }
    }
    return NVML_SUCCESS;
}

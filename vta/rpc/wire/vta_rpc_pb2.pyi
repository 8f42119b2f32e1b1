from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

BUSY: ServerState
DESCRIPTOR: _descriptor.FileDescriptor
DOWN: ServerState
FREE: ServerState
UNKNOWN: ServerState

class Beat(_message.Message):
    __slots__ = ["limit_seconds", "ticket"]
    LIMIT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    TICKET_FIELD_NUMBER: _ClassVar[int]
    limit_seconds: float
    ticket: str
    def __init__(self, ticket: _Optional[str] = ..., limit_seconds: _Optional[float] = ...) -> None: ...

class BoardState(_message.Message):
    __slots__ = ["bitstream", "board", "clock_mhz", "design", "sha256"]
    BITSTREAM_FIELD_NUMBER: _ClassVar[int]
    BOARD_FIELD_NUMBER: _ClassVar[int]
    CLOCK_MHZ_FIELD_NUMBER: _ClassVar[int]
    DESIGN_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    bitstream: str
    board: str
    clock_mhz: float
    design: str
    sha256: str
    def __init__(self, board: _Optional[str] = ..., design: _Optional[str] = ..., clock_mhz: _Optional[float] = ..., bitstream: _Optional[str] = ..., sha256: _Optional[str] = ...) -> None: ...

class CallPart(_message.Message):
    __slots__ = ["data", "request"]
    DATA_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    request: CallRequest
    def __init__(self, request: _Optional[_Union[CallRequest, _Mapping]] = ..., data: _Optional[bytes] = ...) -> None: ...

class CallReply(_message.Message):
    __slots__ = ["tensors"]
    TENSORS_FIELD_NUMBER: _ClassVar[int]
    tensors: _containers.RepeatedCompositeFieldContainer[Tensor]
    def __init__(self, tensors: _Optional[_Iterable[_Union[Tensor, _Mapping]]] = ...) -> None: ...

class CallReplyPart(_message.Message):
    __slots__ = ["data", "reply"]
    DATA_FIELD_NUMBER: _ClassVar[int]
    REPLY_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    reply: CallReply
    def __init__(self, reply: _Optional[_Union[CallReply, _Mapping]] = ..., data: _Optional[bytes] = ...) -> None: ...

class CallRequest(_message.Message):
    __slots__ = ["code", "function", "inputs", "limit_seconds", "module", "session"]
    CODE_FIELD_NUMBER: _ClassVar[int]
    FUNCTION_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    LIMIT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    MODULE_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    code: int
    function: str
    inputs: _containers.RepeatedCompositeFieldContainer[Tensor]
    limit_seconds: float
    module: int
    session: str
    def __init__(self, session: _Optional[str] = ..., code: _Optional[int] = ..., function: _Optional[str] = ..., module: _Optional[int] = ..., inputs: _Optional[_Iterable[_Union[Tensor, _Mapping]]] = ..., limit_seconds: _Optional[float] = ...) -> None: ...

class CheckReply(_message.Message):
    __slots__ = ["compared", "mismatch"]
    COMPARED_FIELD_NUMBER: _ClassVar[int]
    MISMATCH_FIELD_NUMBER: _ClassVar[int]
    compared: int
    mismatch: Mismatch
    def __init__(self, compared: _Optional[int] = ..., mismatch: _Optional[_Union[Mismatch, _Mapping]] = ...) -> None: ...

class ConfigureRequest(_message.Message):
    __slots__ = ["config_json", "session"]
    CONFIG_JSON_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    config_json: str
    session: str
    def __init__(self, session: _Optional[str] = ..., config_json: _Optional[str] = ...) -> None: ...

class Counters(_message.Message):
    __slots__ = ["acc_bytes", "alu_uops", "compute_instructions", "gemm_uops", "inp_bytes", "load_instructions", "macs", "out_bytes", "reset_uops", "store_instructions", "uop_bytes", "wgt_bytes"]
    ACC_BYTES_FIELD_NUMBER: _ClassVar[int]
    ALU_UOPS_FIELD_NUMBER: _ClassVar[int]
    COMPUTE_INSTRUCTIONS_FIELD_NUMBER: _ClassVar[int]
    GEMM_UOPS_FIELD_NUMBER: _ClassVar[int]
    INP_BYTES_FIELD_NUMBER: _ClassVar[int]
    LOAD_INSTRUCTIONS_FIELD_NUMBER: _ClassVar[int]
    MACS_FIELD_NUMBER: _ClassVar[int]
    OUT_BYTES_FIELD_NUMBER: _ClassVar[int]
    RESET_UOPS_FIELD_NUMBER: _ClassVar[int]
    STORE_INSTRUCTIONS_FIELD_NUMBER: _ClassVar[int]
    UOP_BYTES_FIELD_NUMBER: _ClassVar[int]
    WGT_BYTES_FIELD_NUMBER: _ClassVar[int]
    acc_bytes: int
    alu_uops: int
    compute_instructions: int
    gemm_uops: int
    inp_bytes: int
    load_instructions: int
    macs: int
    out_bytes: int
    reset_uops: int
    store_instructions: int
    uop_bytes: int
    wgt_bytes: int
    def __init__(self, inp_bytes: _Optional[int] = ..., wgt_bytes: _Optional[int] = ..., acc_bytes: _Optional[int] = ..., uop_bytes: _Optional[int] = ..., out_bytes: _Optional[int] = ..., gemm_uops: _Optional[int] = ..., reset_uops: _Optional[int] = ..., alu_uops: _Optional[int] = ..., macs: _Optional[int] = ..., load_instructions: _Optional[int] = ..., compute_instructions: _Optional[int] = ..., store_instructions: _Optional[int] = ...) -> None: ...

class DescribeRequest(_message.Message):
    __slots__ = []
    def __init__(self) -> None: ...

class Description(_message.Message):
    __slots__ = ["board", "busy", "config_json", "device", "host_code", "limits", "memory_bytes", "needs_proof", "timing_json"]
    BOARD_FIELD_NUMBER: _ClassVar[int]
    BUSY_FIELD_NUMBER: _ClassVar[int]
    CONFIG_JSON_FIELD_NUMBER: _ClassVar[int]
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    HOST_CODE_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    NEEDS_PROOF_FIELD_NUMBER: _ClassVar[int]
    TIMING_JSON_FIELD_NUMBER: _ClassVar[int]
    board: BoardState
    busy: bool
    config_json: str
    device: str
    host_code: bool
    limits: Limits
    memory_bytes: int
    needs_proof: bool
    timing_json: str
    def __init__(self, device: _Optional[str] = ..., config_json: _Optional[str] = ..., timing_json: _Optional[str] = ..., memory_bytes: _Optional[int] = ..., limits: _Optional[_Union[Limits, _Mapping]] = ..., busy: bool = ..., host_code: bool = ..., board: _Optional[_Union[BoardState, _Mapping]] = ..., needs_proof: bool = ...) -> None: ...

class DeviceRun(_message.Message):
    __slots__ = ["counters", "cycles", "operators", "preset", "read_beats", "region", "seconds", "tokens", "units", "write_beats"]
    class UnitsEntry(_message.Message):
        __slots__ = ["key", "value"]
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: UnitCycles
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[UnitCycles, _Mapping]] = ...) -> None: ...
    COUNTERS_FIELD_NUMBER: _ClassVar[int]
    CYCLES_FIELD_NUMBER: _ClassVar[int]
    OPERATORS_FIELD_NUMBER: _ClassVar[int]
    PRESET_FIELD_NUMBER: _ClassVar[int]
    READ_BEATS_FIELD_NUMBER: _ClassVar[int]
    REGION_FIELD_NUMBER: _ClassVar[int]
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    UNITS_FIELD_NUMBER: _ClassVar[int]
    WRITE_BEATS_FIELD_NUMBER: _ClassVar[int]
    counters: Counters
    cycles: int
    operators: _containers.RepeatedCompositeFieldContainer[Counters]
    preset: str
    read_beats: int
    region: int
    seconds: float
    tokens: Tokens
    units: _containers.MessageMap[str, UnitCycles]
    write_beats: int
    def __init__(self, region: _Optional[int] = ..., counters: _Optional[_Union[Counters, _Mapping]] = ..., operators: _Optional[_Iterable[_Union[Counters, _Mapping]]] = ..., tokens: _Optional[_Union[Tokens, _Mapping]] = ..., seconds: _Optional[float] = ..., cycles: _Optional[int] = ..., units: _Optional[_Mapping[str, UnitCycles]] = ..., read_beats: _Optional[int] = ..., write_beats: _Optional[int] = ..., preset: _Optional[str] = ...) -> None: ...

class GpuReply(_message.Message):
    __slots__ = ["block", "grid", "local_bytes", "name", "processors", "registers", "shared_bytes", "tensor", "threads"]
    BLOCK_FIELD_NUMBER: _ClassVar[int]
    GRID_FIELD_NUMBER: _ClassVar[int]
    LOCAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PROCESSORS_FIELD_NUMBER: _ClassVar[int]
    REGISTERS_FIELD_NUMBER: _ClassVar[int]
    SHARED_BYTES_FIELD_NUMBER: _ClassVar[int]
    TENSOR_FIELD_NUMBER: _ClassVar[int]
    THREADS_FIELD_NUMBER: _ClassVar[int]
    block: _containers.RepeatedScalarFieldContainer[int]
    grid: _containers.RepeatedScalarFieldContainer[int]
    local_bytes: int
    name: str
    processors: int
    registers: int
    shared_bytes: int
    tensor: bool
    threads: int
    def __init__(self, name: _Optional[str] = ..., threads: _Optional[int] = ..., block: _Optional[_Iterable[int]] = ..., grid: _Optional[_Iterable[int]] = ..., shared_bytes: _Optional[int] = ..., local_bytes: _Optional[int] = ..., registers: _Optional[int] = ..., processors: _Optional[int] = ..., tensor: bool = ...) -> None: ...

class GpuRequest(_message.Message):
    __slots__ = ["kind", "ordinal", "platform", "session"]
    KIND_FIELD_NUMBER: _ClassVar[int]
    ORDINAL_FIELD_NUMBER: _ClassVar[int]
    PLATFORM_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    kind: str
    ordinal: int
    platform: str
    session: str
    def __init__(self, session: _Optional[str] = ..., kind: _Optional[str] = ..., ordinal: _Optional[int] = ..., platform: _Optional[str] = ...) -> None: ...

class Grant(_message.Message):
    __slots__ = ["address", "ticket"]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    TICKET_FIELD_NUMBER: _ClassVar[int]
    address: str
    ticket: str
    def __init__(self, address: _Optional[str] = ..., ticket: _Optional[str] = ...) -> None: ...

class KeyRow(_message.Message):
    __slots__ = ["free", "key", "pending", "total"]
    FREE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    free: int
    key: str
    pending: int
    total: int
    def __init__(self, key: _Optional[str] = ..., total: _Optional[int] = ..., free: _Optional[int] = ..., pending: _Optional[int] = ...) -> None: ...

class LeaseRequest(_message.Message):
    __slots__ = ["key", "priority", "timeout_seconds"]
    KEY_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    key: str
    priority: int
    timeout_seconds: float
    def __init__(self, key: _Optional[str] = ..., priority: _Optional[int] = ..., timeout_seconds: _Optional[float] = ...) -> None: ...

class LeaseUpdate(_message.Message):
    __slots__ = ["grant", "waiting"]
    GRANT_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    grant: Grant
    waiting: int
    def __init__(self, waiting: _Optional[int] = ..., grant: _Optional[_Union[Grant, _Mapping]] = ...) -> None: ...

class Limits(_message.Message):
    __slots__ = ["heartbeat_seconds", "run_seconds", "session_seconds", "silence_seconds", "upload_bytes"]
    HEARTBEAT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    RUN_SECONDS_FIELD_NUMBER: _ClassVar[int]
    SESSION_SECONDS_FIELD_NUMBER: _ClassVar[int]
    SILENCE_SECONDS_FIELD_NUMBER: _ClassVar[int]
    UPLOAD_BYTES_FIELD_NUMBER: _ClassVar[int]
    heartbeat_seconds: float
    run_seconds: float
    session_seconds: float
    silence_seconds: float
    upload_bytes: int
    def __init__(self, heartbeat_seconds: _Optional[float] = ..., silence_seconds: _Optional[float] = ..., session_seconds: _Optional[float] = ..., run_seconds: _Optional[float] = ..., upload_bytes: _Optional[int] = ...) -> None: ...

class LoadCodeReply(_message.Message):
    __slots__ = ["code"]
    CODE_FIELD_NUMBER: _ClassVar[int]
    code: int
    def __init__(self, code: _Optional[int] = ...) -> None: ...

class LoadCodeRequest(_message.Message):
    __slots__ = ["session", "source"]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    session: str
    source: str
    def __init__(self, session: _Optional[str] = ..., source: _Optional[str] = ...) -> None: ...

class MeasureReply(_message.Message):
    __slots__ = ["costs", "cycles", "mismatch"]
    COSTS_FIELD_NUMBER: _ClassVar[int]
    CYCLES_FIELD_NUMBER: _ClassVar[int]
    MISMATCH_FIELD_NUMBER: _ClassVar[int]
    costs: _containers.RepeatedScalarFieldContainer[float]
    cycles: int
    mismatch: str
    def __init__(self, costs: _Optional[_Iterable[float]] = ..., cycles: _Optional[int] = ..., mismatch: _Optional[str] = ...) -> None: ...

class MeasureRequest(_message.Message):
    __slots__ = ["check", "least_seconds", "limit_seconds", "module", "number", "repeat", "session"]
    CHECK_FIELD_NUMBER: _ClassVar[int]
    LEAST_SECONDS_FIELD_NUMBER: _ClassVar[int]
    LIMIT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    MODULE_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    REPEAT_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    check: bool
    least_seconds: float
    limit_seconds: float
    module: int
    number: int
    repeat: int
    session: str
    def __init__(self, session: _Optional[str] = ..., module: _Optional[int] = ..., number: _Optional[int] = ..., repeat: _Optional[int] = ..., least_seconds: _Optional[float] = ..., limit_seconds: _Optional[float] = ..., check: bool = ...) -> None: ...

class Mismatch(_message.Message):
    __slots__ = ["differing", "expected", "got", "index", "layer", "operator", "total"]
    DIFFERING_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_FIELD_NUMBER: _ClassVar[int]
    GOT_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    LAYER_FIELD_NUMBER: _ClassVar[int]
    OPERATOR_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    differing: int
    expected: float
    got: float
    index: _containers.RepeatedScalarFieldContainer[int]
    layer: str
    operator: str
    total: int
    def __init__(self, operator: _Optional[str] = ..., layer: _Optional[str] = ..., index: _Optional[_Iterable[int]] = ..., expected: _Optional[float] = ..., got: _Optional[float] = ..., differing: _Optional[int] = ..., total: _Optional[int] = ...) -> None: ...

class QueryReply(_message.Message):
    __slots__ = ["rows", "servers"]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    SERVERS_FIELD_NUMBER: _ClassVar[int]
    rows: _containers.RepeatedCompositeFieldContainer[KeyRow]
    servers: _containers.RepeatedCompositeFieldContainer[ServerRow]
    def __init__(self, rows: _Optional[_Iterable[_Union[KeyRow, _Mapping]]] = ..., servers: _Optional[_Iterable[_Union[ServerRow, _Mapping]]] = ...) -> None: ...

class QueryRequest(_message.Message):
    __slots__ = []
    def __init__(self) -> None: ...

class RunPart(_message.Message):
    __slots__ = ["data", "request"]
    DATA_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    request: RunRequest
    def __init__(self, request: _Optional[_Union[RunRequest, _Mapping]] = ..., data: _Optional[bytes] = ...) -> None: ...

class RunReply(_message.Message):
    __slots__ = ["check", "device_seconds", "host_seconds", "outputs", "runs", "tensors"]
    CHECK_FIELD_NUMBER: _ClassVar[int]
    DEVICE_SECONDS_FIELD_NUMBER: _ClassVar[int]
    HOST_SECONDS_FIELD_NUMBER: _ClassVar[int]
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    RUNS_FIELD_NUMBER: _ClassVar[int]
    TENSORS_FIELD_NUMBER: _ClassVar[int]
    check: CheckReply
    device_seconds: float
    host_seconds: float
    outputs: int
    runs: _containers.RepeatedCompositeFieldContainer[DeviceRun]
    tensors: _containers.RepeatedCompositeFieldContainer[Tensor]
    def __init__(self, tensors: _Optional[_Iterable[_Union[Tensor, _Mapping]]] = ..., outputs: _Optional[int] = ..., runs: _Optional[_Iterable[_Union[DeviceRun, _Mapping]]] = ..., device_seconds: _Optional[float] = ..., host_seconds: _Optional[float] = ..., check: _Optional[_Union[CheckReply, _Mapping]] = ...) -> None: ...

class RunReplyPart(_message.Message):
    __slots__ = ["data", "reply"]
    DATA_FIELD_NUMBER: _ClassVar[int]
    REPLY_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    reply: RunReply
    def __init__(self, reply: _Optional[_Union[RunReply, _Mapping]] = ..., data: _Optional[bytes] = ...) -> None: ...

class RunRequest(_message.Message):
    __slots__ = ["check", "inputs", "limit_seconds", "module", "seed", "session", "timeline", "times"]
    CHECK_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    LIMIT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    MODULE_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    TIMELINE_FIELD_NUMBER: _ClassVar[int]
    TIMES_FIELD_NUMBER: _ClassVar[int]
    check: bool
    inputs: _containers.RepeatedCompositeFieldContainer[Tensor]
    limit_seconds: float
    module: int
    seed: int
    session: str
    timeline: bool
    times: bool
    def __init__(self, session: _Optional[str] = ..., module: _Optional[int] = ..., inputs: _Optional[_Iterable[_Union[Tensor, _Mapping]]] = ..., limit_seconds: _Optional[float] = ..., seed: _Optional[int] = ..., check: bool = ..., times: bool = ..., timeline: bool = ...) -> None: ...

class ServerRow(_message.Message):
    __slots__ = ["address", "device", "key", "reason", "state"]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    address: str
    device: str
    key: str
    reason: str
    state: str
    def __init__(self, key: _Optional[str] = ..., address: _Optional[str] = ..., state: _Optional[str] = ..., reason: _Optional[str] = ..., device: _Optional[str] = ...) -> None: ...

class ServerStatus(_message.Message):
    __slots__ = ["device", "host", "key", "port", "reason", "state", "ticket"]
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    TICKET_FIELD_NUMBER: _ClassVar[int]
    device: str
    host: str
    key: str
    port: int
    reason: str
    state: ServerState
    ticket: str
    def __init__(self, key: _Optional[str] = ..., host: _Optional[str] = ..., port: _Optional[int] = ..., state: _Optional[_Union[ServerState, str]] = ..., ticket: _Optional[str] = ..., reason: _Optional[str] = ..., device: _Optional[str] = ...) -> None: ...

class SessionUpdate(_message.Message):
    __slots__ = ["description", "session"]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    description: Description
    session: str
    def __init__(self, session: _Optional[str] = ..., description: _Optional[_Union[Description, _Mapping]] = ...) -> None: ...

class Tensor(_message.Message):
    __slots__ = ["dtype", "name", "shape"]
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    dtype: str
    name: str
    shape: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, name: _Optional[str] = ..., dtype: _Optional[str] = ..., shape: _Optional[_Iterable[int]] = ...) -> None: ...

class Tokens(_message.Message):
    __slots__ = ["compute_to_load", "compute_to_store", "load_to_compute", "store_to_compute"]
    COMPUTE_TO_LOAD_FIELD_NUMBER: _ClassVar[int]
    COMPUTE_TO_STORE_FIELD_NUMBER: _ClassVar[int]
    LOAD_TO_COMPUTE_FIELD_NUMBER: _ClassVar[int]
    STORE_TO_COMPUTE_FIELD_NUMBER: _ClassVar[int]
    compute_to_load: int
    compute_to_store: int
    load_to_compute: int
    store_to_compute: int
    def __init__(self, load_to_compute: _Optional[int] = ..., compute_to_load: _Optional[int] = ..., compute_to_store: _Optional[int] = ..., store_to_compute: _Optional[int] = ...) -> None: ...

class TrackerUpdate(_message.Message):
    __slots__ = ["problem", "renew_ticket"]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    RENEW_TICKET_FIELD_NUMBER: _ClassVar[int]
    problem: str
    renew_ticket: bool
    def __init__(self, renew_ticket: bool = ..., problem: _Optional[str] = ...) -> None: ...

class UnitCycles(_message.Message):
    __slots__ = ["busy", "idle", "memory", "token"]
    BUSY_FIELD_NUMBER: _ClassVar[int]
    IDLE_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    busy: int
    idle: int
    memory: int
    token: int
    def __init__(self, busy: _Optional[int] = ..., token: _Optional[int] = ..., memory: _Optional[int] = ..., idle: _Optional[int] = ...) -> None: ...

class UnloadReply(_message.Message):
    __slots__ = []
    def __init__(self) -> None: ...

class UnloadRequest(_message.Message):
    __slots__ = ["module", "session"]
    MODULE_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    module: int
    session: str
    def __init__(self, session: _Optional[str] = ..., module: _Optional[int] = ...) -> None: ...

class UploadHeader(_message.Message):
    __slots__ = ["config_json", "design", "keep", "name", "nbytes", "session", "sha256"]
    CONFIG_JSON_FIELD_NUMBER: _ClassVar[int]
    DESIGN_FIELD_NUMBER: _ClassVar[int]
    KEEP_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    NBYTES_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    config_json: str
    design: str
    keep: bool
    name: str
    nbytes: int
    session: str
    sha256: bytes
    def __init__(self, session: _Optional[str] = ..., nbytes: _Optional[int] = ..., sha256: _Optional[bytes] = ..., name: _Optional[str] = ..., config_json: _Optional[str] = ..., keep: bool = ..., design: _Optional[str] = ...) -> None: ...

class UploadPart(_message.Message):
    __slots__ = ["data", "header"]
    DATA_FIELD_NUMBER: _ClassVar[int]
    HEADER_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    header: UploadHeader
    def __init__(self, header: _Optional[_Union[UploadHeader, _Mapping]] = ..., data: _Optional[bytes] = ...) -> None: ...

class UploadReply(_message.Message):
    __slots__ = ["module"]
    MODULE_FIELD_NUMBER: _ClassVar[int]
    module: int
    def __init__(self, module: _Optional[int] = ...) -> None: ...

class WorkerCode(_message.Message):
    __slots__ = ["code", "memory_bytes", "source"]
    CODE_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    code: int
    memory_bytes: int
    source: str
    def __init__(self, code: _Optional[int] = ..., source: _Optional[str] = ..., memory_bytes: _Optional[int] = ...) -> None: ...

class WorkerError(_message.Message):
    __slots__ = ["kind", "message"]
    KIND_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    kind: str
    message: str
    def __init__(self, kind: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...

class WorkerLoad(_message.Message):
    __slots__ = ["module", "path"]
    MODULE_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    module: int
    path: str
    def __init__(self, module: _Optional[int] = ..., path: _Optional[str] = ...) -> None: ...

class WorkerOpen(_message.Message):
    __slots__ = ["bitstream", "bitstreams", "config_json", "design", "device", "kernel", "link", "memory_bytes", "platform", "preset", "process_bytes", "timing_json"]
    BITSTREAMS_FIELD_NUMBER: _ClassVar[int]
    BITSTREAM_FIELD_NUMBER: _ClassVar[int]
    CONFIG_JSON_FIELD_NUMBER: _ClassVar[int]
    DESIGN_FIELD_NUMBER: _ClassVar[int]
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    KERNEL_FIELD_NUMBER: _ClassVar[int]
    LINK_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    PLATFORM_FIELD_NUMBER: _ClassVar[int]
    PRESET_FIELD_NUMBER: _ClassVar[int]
    PROCESS_BYTES_FIELD_NUMBER: _ClassVar[int]
    TIMING_JSON_FIELD_NUMBER: _ClassVar[int]
    bitstream: str
    bitstreams: str
    config_json: str
    design: str
    device: str
    kernel: str
    link: str
    memory_bytes: int
    platform: str
    preset: str
    process_bytes: int
    timing_json: str
    def __init__(self, device: _Optional[str] = ..., config_json: _Optional[str] = ..., timing_json: _Optional[str] = ..., memory_bytes: _Optional[int] = ..., preset: _Optional[str] = ..., kernel: _Optional[str] = ..., platform: _Optional[str] = ..., design: _Optional[str] = ..., bitstream: _Optional[str] = ..., bitstreams: _Optional[str] = ..., link: _Optional[str] = ..., process_bytes: _Optional[int] = ...) -> None: ...

class WorkerReply(_message.Message):
    __slots__ = ["call", "code", "description", "error", "gpu", "loaded", "measure", "run", "unloaded"]
    CALL_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    GPU_FIELD_NUMBER: _ClassVar[int]
    LOADED_FIELD_NUMBER: _ClassVar[int]
    MEASURE_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    UNLOADED_FIELD_NUMBER: _ClassVar[int]
    call: CallReply
    code: LoadCodeReply
    description: Description
    error: WorkerError
    gpu: GpuReply
    loaded: UploadReply
    measure: MeasureReply
    run: RunReply
    unloaded: UnloadReply
    def __init__(self, error: _Optional[_Union[WorkerError, _Mapping]] = ..., description: _Optional[_Union[Description, _Mapping]] = ..., loaded: _Optional[_Union[UploadReply, _Mapping]] = ..., run: _Optional[_Union[RunReply, _Mapping]] = ..., measure: _Optional[_Union[MeasureReply, _Mapping]] = ..., unloaded: _Optional[_Union[UnloadReply, _Mapping]] = ..., code: _Optional[_Union[LoadCodeReply, _Mapping]] = ..., call: _Optional[_Union[CallReply, _Mapping]] = ..., gpu: _Optional[_Union[GpuReply, _Mapping]] = ...) -> None: ...

class WorkerRequest(_message.Message):
    __slots__ = ["call", "code", "gpu", "input_path", "load", "measure", "open", "output_path", "run", "unload"]
    CALL_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    GPU_FIELD_NUMBER: _ClassVar[int]
    INPUT_PATH_FIELD_NUMBER: _ClassVar[int]
    LOAD_FIELD_NUMBER: _ClassVar[int]
    MEASURE_FIELD_NUMBER: _ClassVar[int]
    OPEN_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_PATH_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    UNLOAD_FIELD_NUMBER: _ClassVar[int]
    call: CallRequest
    code: WorkerCode
    gpu: GpuRequest
    input_path: str
    load: WorkerLoad
    measure: MeasureRequest
    open: WorkerOpen
    output_path: str
    run: RunRequest
    unload: UnloadRequest
    def __init__(self, open: _Optional[_Union[WorkerOpen, _Mapping]] = ..., load: _Optional[_Union[WorkerLoad, _Mapping]] = ..., run: _Optional[_Union[RunRequest, _Mapping]] = ..., measure: _Optional[_Union[MeasureRequest, _Mapping]] = ..., unload: _Optional[_Union[UnloadRequest, _Mapping]] = ..., code: _Optional[_Union[WorkerCode, _Mapping]] = ..., call: _Optional[_Union[CallRequest, _Mapping]] = ..., gpu: _Optional[_Union[GpuRequest, _Mapping]] = ..., input_path: _Optional[str] = ..., output_path: _Optional[str] = ...) -> None: ...

class ServerState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

package io.pipelane.runtime;

import io.pipelane.config.Status;

/** ONNX Runtime's error codes, in the order of its C enumeration, and what they mean to us. */
enum OrtErrorCode {
  OK(Status.INTERNAL),
  FAIL(Status.INTERNAL),
  INVALID_ARGUMENT(Status.INVALID_ARGUMENT),
  NO_SUCH_FILE(Status.NOT_FOUND),
  NO_MODEL(Status.INVALID_ARGUMENT),
  ENGINE_ERROR(Status.INTERNAL),
  RUNTIME_EXCEPTION(Status.INTERNAL),
  INVALID_PROTOBUF(Status.INVALID_ARGUMENT),
  MODEL_LOADED(Status.INTERNAL),
  NOT_IMPLEMENTED(Status.UNIMPLEMENTED),
  INVALID_GRAPH(Status.INVALID_ARGUMENT),
  EP_FAIL(Status.INTERNAL);

  private static final OrtErrorCode[] BY_CODE = values();

  private final Status status;

  OrtErrorCode(Status status) {
    this.status = status;
  }

  static OrtErrorCode of(int code) {
    return code >= 0 && code < BY_CODE.length ? BY_CODE[code] : FAIL;
  }

  Status status() {
    return status;
  }
}

package io.pipelane.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.config.Status;
import org.junit.jupiter.api.Test;

class ErrorTextTest {
  private static String ofLibrary(String before, String said) {
    return before
        + "/src/cuda_call.cc:154 std::conditional_t<THRW, void, Status> onnxruntime::CudaCall(int) "
        + "[with ERRTYPE = cudaError; bool THRW = true] /src/cuda_call.cc:146 "
        + said
        + " ; GPU=0 ; hostname=vm ; file=/src/cuda_stream_handle.cc ; line=58 ; "
        + "expr=cudaEventSynchronize(event_); \n\n";
  }

  @Test
  void of_whatALibrarySaid_isThatWithItsCall() {
    assertEquals(
        new ErrorText(
            Status.DEVICE_FAILURE,
            "CUDA failure 907: operation not permitted on an event last recorded in a capturing "
                + "stream, by cudaEventSynchronize(event_)"),
        ErrorText.of(
            OrtErrorCode.FAIL,
            ofLibrary(
                "",
                "CUDA failure 907: operation not permitted on an event last recorded in a "
                    + "capturing stream")));
  }

  @Test
  void of_whatALibrarySaidInANode_namesTheNode() {
    assertEquals(
        new ErrorText(
            Status.INSUFFICIENT_MEMORY,
            "Non-zero status code returned while running Conv node. Name:'c' Status Message: "
                + "CUDA failure 2: out of memory, by cudaEventSynchronize(event_)"),
        ErrorText.of(
            OrtErrorCode.EP_FAIL,
            ofLibrary(
                "Non-zero status code returned while running Conv node. Name:'c' Status Message: ",
                "CUDA failure 2: out of memory")));
  }

  @Test
  void of_aConditionThatDidNotHold_isWhatItMeans() {
    String message =
        "Exception during initialization: /src/core/optimizer/transformer_memcpy.cc:253 bool "
            + "onnxruntime::IsNodeCompatible(const onnxruntime::Node&) const "
            + "!node_provider_type.empty() was false. Provider type for node 'n' is not set.";
    assertEquals(
        new ErrorText(
            Status.INTERNAL,
            "Exception during initialization: Provider type for node 'n' is not set."),
        ErrorText.of(OrtErrorCode.RUNTIME_EXCEPTION, message));
  }

  @Test
  void of_anythingElse_isAllOfIt() {
    assertEquals(
        new ErrorText(Status.INVALID_ARGUMENT, "Invalid rank for input: x"),
        ErrorText.of(OrtErrorCode.INVALID_ARGUMENT, "Invalid rank for input: x\n"));
  }
}

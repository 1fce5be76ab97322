package io.pipelane.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class ErrorTextTest {
  @Test
  void of_whatALibrarySaid_isThatAlone() {
    String message =
        "/src/cuda_call.cc:154 std::conditional_t<THRW, void, Status> onnxruntime::CudaCall(int) "
            + "[with ERRTYPE = cudaError; bool THRW = true] /src/cuda_call.cc:146 CUDA failure 907: "
            + "operation not permitted on an event last recorded in a capturing stream ; GPU=0 ; "
            + "hostname=vm ; file=/src/cuda_stream_handle.cc ; line=58 ; expr=wait(event_); \n\n";
    assertEquals(
        "CUDA failure 907: operation not permitted on an event last recorded in a capturing stream",
        ErrorText.of(message));
  }

  @Test
  void of_aConditionThatDidNotHold_isWhatItMeans() {
    String message =
        "Exception during initialization: /src/core/optimizer/transformer_memcpy.cc:253 bool "
            + "onnxruntime::IsNodeCompatible(const onnxruntime::Node&) const "
            + "!node_provider_type.empty() was false. Provider type for node 'n' is not set.";
    assertEquals(
        "Exception during initialization: Provider type for node 'n' is not set.",
        ErrorText.of(message));
  }

  @Test
  void of_anythingElse_isAllOfIt() {
    assertEquals("Invalid rank for input: x", ErrorText.of("Invalid rank for input: x\n"));
  }
}

/*
 * write: messages as the reader reads them.
 */
#include <inttypes.h>

#include "http/internal.h"

#define REQUEST_END " HTTP/1.1\r\n"

/* RFC 9110 15, and the later ones that APIs send. */
static const struct {
	int status;
	const char *reason;
} reasons[] = {
	{100, "Continue"                       },
	{101, "Switching Protocols"            },
	{102, "Processing"                     },
	{103, "Early Hints"                    },
	{200, "OK"			     },
	{201, "Created"			},
	{202, "Accepted"                       },
	{203, "Non-Authoritative Information"  },
	{204, "No Content"                     },
	{205, "Reset Content"                  },
	{206, "Partial Content"                },
	{207, "Multi-Status"                   },
	{300, "Multiple Choices"               },
	{301, "Moved Permanently"              },
	{302, "Found"			  },
	{303, "See Other"                      },
	{304, "Not Modified"                   },
	{305, "Use Proxy"                      },
	{307, "Temporary Redirect"             },
	{308, "Permanent Redirect"             },
	{400, "Bad Request"                    },
	{401, "Unauthorized"                   },
	{402, "Payment Required"               },
	{403, "Forbidden"                      },
	{404, "Not Found"                      },
	{405, "Method Not Allowed"             },
	{406, "Not Acceptable"                 },
	{407, "Proxy Authentication Required"  },
	{408, "Request Timeout"                },
	{409, "Conflict"                       },
	{410, "Gone"			   },
	{411, "Length Required"                },
	{412, "Precondition Failed"            },
	{413, "Content Too Large"              },
	{414, "URI Too Long"                   },
	{415, "Unsupported Media Type"         },
	{416, "Range Not Satisfiable"          },
	{417, "Expectation Failed"             },
	{421, "Misdirected Request"            },
	{422, "Unprocessable Content"          },
	{423, "Locked"			 },
	{424, "Failed Dependency"              },
	{425, "Too Early"                      },
	{426, "Upgrade Required"               },
	{428, "Precondition Required"          },
	{429, "Too Many Requests"              },
	{431, "Request Header Fields Too Large"},
	{451, "Unavailable For Legal Reasons"  },
	{500, "Internal Server Error"          },
	{501, "Not Implemented"                },
	{502, "Bad Gateway"                    },
	{503, "Service Unavailable"            },
	{504, "Gateway Timeout"                },
	{505, "HTTP Version Not Supported"     },
	{507, "Insufficient Storage"           },
	{511, "Network Authentication Required"},
};

const char *http_reason(int status)
{
	for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
		if (reasons[i].status == status)
			return reasons[i].reason;
	return "Unknown";
}

static int full(struct error *err)
{
	return error_set(err, &HTTP_LIMIT, "a head of over what may be written");
}

int http_put_request(struct buf *to, const char *method, struct str target, struct error *err)
{
	const struct str name = str_from(method);
	const size_t len = name.len + 1 + target.len + strlen(REQUEST_END);

	if (!http_is_token(name))
		return error_set(err, &HTTP_INVALID, "the method is no token");
	if (!http_is_target(name, target))
		return error_set(err, &HTTP_INVALID, "the request target is none of this method");
	if (len - 2 > HTTP_START_LINE_MAX_BYTES)
		return error_set(err, &HTTP_LIMIT, "a request line of over %d bytes",
			HTTP_START_LINE_MAX_BYTES);
	if (buf_reserve(to, len) < 0)
		return full(err);
	(void)buf_put_str(to, name); /* reserved, all four */
	(void)buf_putc(to, ' ');
	(void)buf_put_str(to, target);
	(void)buf_puts(to, REQUEST_END);
	return 0;
}

void http_put_response(struct buf *to, int status)
{
	must(status >= 100 && status <= 599);
	(void)buf_printf(to, "HTTP/1.1 %d %s\r\n", status, http_reason(status));
}

int http_put_header(struct buf *to, const char *name, struct str value, struct error *err)
{
	const struct str token = str_from(name);

	if (!http_is_token(token))
		return error_set(err, &HTTP_INVALID, "a header's name is no token");
	if (!http_is_value(HTTP_RESPONSES, value))
		return error_set(
			err, &HTTP_INVALID, "the value of %s has a control character", name);
	if (buf_reserve(to, token.len + 2 + value.len + 2) < 0)
		return full(err);
	(void)buf_put_str(to, token); /* reserved, all four */
	(void)buf_puts(to, ": ");
	(void)buf_put_str(to, value);
	(void)buf_puts(to, "\r\n");
	return 0;
}

void http_put_length(struct buf *to, uint64_t body_bytes)
{
	(void)buf_printf(to, "Content-Length: %" PRIu64 "\r\n", body_bytes);
}

void http_put_end(struct buf *to)
{
	(void)buf_puts(to, "\r\n");
}

void http_put_chunk(struct buf *to, struct str bytes)
{
	must(bytes.len <= UINT32_MAX); /* 8 digits */
	if (bytes.len == 0)
		return;
	(void)buf_printf(to, "%zx\r\n", bytes.len);
	(void)buf_put_str(to, bytes);
	(void)buf_puts(to, "\r\n");
}

void http_put_last_chunk(struct buf *to)
{
	(void)buf_puts(to, "0\r\n\r\n");
}
